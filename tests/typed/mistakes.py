"""Mistakes that a type checker finds before anything is charged, each with mypy's code for it."""

from __future__ import annotations

import pandas as pd

import dppandas as dp

people = dp.protect(pd.DataFrame({"age": [20, 30, 40]}), name="mistakes", domain={"age": (0, 99)})
ages = people["age"]
ages.meen(epsilon=0.1)  # [attr-defined]
ages.mean(bonds=(0, 60), epsilon=0.1)  # [call-overload]
ages.mean(epsilon=None)  # [call-overload]
ages.mean().error()  # [attr-defined]
print(2 * people.count())  # [operator]
print(people.count(epsilon=0.1).head())  # [attr-defined]
ages.str.uper()  # [attr-defined]
print(ages.dt.yaer)  # [attr-defined]
people["age"] = ages.clip(0, 60)  # [operator]
print(len(people))  # [arg-type]
