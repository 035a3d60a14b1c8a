"""What to write in place of functions of other libraries, which would read private values."""

from __future__ import annotations

from types import FrameType

_NAMES = {"pandas": "pd", "numpy": "np", "seaborn": "sns", "sklearn": "sklearn"}
_PLOT = "plot a released answer: dp.plot(frame['x'].hist(bins=10, range=(0, 100), epsilon=0.1))"
_FIT = "fit a model of dp.models, such as dp.models.LinearRegression(epsilon=1).fit(frame, y)"
_COMPARE = (
    "use dp.stats, or release frame.groupby('g')['x'].agg(['mean', 'std'], epsilon=1): a test of "
    "these, as if they were exact, leaves out their noise"
)

#: What works here, by library and function; "" is any other function of the library.
INSTEAD: dict[str, dict[str, str]] = {
    "pandas": {
        "cut": "cut at public edges: frame['x'].cut([0, 18, 65])",
        "qcut": "cut at public edges, frame['x'].cut([0, 18, 65]), which may be released quantiles",
        "crosstab": "dp.crosstab(frame['a'], frame['b'])",
        "pivot_table": "frame.pivot_table('x', 'a', 'b', aggfunc='mean')",
        "concat": "dp.concat([one, other]) for frames of one source",
        "merge": "merge a public table into the private frame: frame.merge(table, on='key')",
        "to_datetime": "convert cell by cell: frame['x'].astype('datetime64[ns]')",
        "to_numeric": "convert cell by cell: frame['x'].astype(float)",
        "to_timedelta": "multiply numbers by a unit: frame['x'] * pd.Timedelta('1s')",
        "get_dummies": "compare with public labels: frame.assign(is_a=frame['x'] == 'a')",
        "melt": "frame.melt(id_vars, value_vars)",
        "isna": "frame['x'].isna()", "isnull": "frame['x'].isna()",
        "notna": "frame['x'].notna()", "notnull": "frame['x'].notna()",
        "unique": "release common labels: frame['x'].unique(epsilon=1, delta=1e-6)",
        "factorize": "release common labels: frame['x'].unique(epsilon=1, delta=1e-6)",
    },
    "scipy": {"": _COMPARE},
    "statsmodels": {"": _COMPARE},
    "pingouin": {"": _COMPARE},
    "sklearn": {"": _FIT},
    "seaborn": {"": _PLOT},
    "matplotlib": {"": _PLOT},
    "plotly": {"": _PLOT},
    "altair": {"": _PLOT},
    "bokeh": {"": _PLOT},
}  # fmt: skip


def caller(frame: FrameType) -> tuple[str, str]:
    """The function of another library that asks for values, and what to write in its place; two
    empty texts where none does, or none is known. Only names of functions are looked at."""
    found, own = ("", ""), __name__.partition(".")[0]
    outer: FrameType | None = frame
    while outer is not None:
        library = str(outer.f_globals.get("__name__")).partition(".")[0]
        if library not in INSTEAD and library not in (own, "numpy"):
            break  # the caller's own code
        known, name = INSTEAD.get(library, {}), outer.f_code.co_name
        if instead := known.get(name, known.get("")):
            short = _NAMES.get(library, library)
            said = f"{short}.{name}" if name in known or _is_public(name) else library
            found = said, instead
        outer = outer.f_back
    return found


def is_library(frame: FrameType) -> bool:
    """Whether another library asks, and no code of the caller's own."""
    own = __name__.partition(".")[0]
    outer: FrameType | None = frame
    while outer is not None:
        library = str(outer.f_globals.get("__name__")).partition(".")[0]
        if library != own:
            return library in INSTEAD or library == "numpy"
        outer = outer.f_back
    return False


def _is_public(name: str) -> bool:
    """Whether a caller would know it by this name: not a helper, nor what wraps a function."""
    return not name.startswith(("_", "<")) and "wrap" not in name
