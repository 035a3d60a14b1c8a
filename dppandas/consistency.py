def consistent(*a): """x"""
