"""Holds a Parquet table against the CSV of the same sweep, by value, in pandas, Polars and DuckDB.

    tables.py ROWS.csv COLUMNS.json ROWS.parquet
"""

import csv
import json
import math
import sys

import duckdb
import pandas
import polars

READ = {"int64": int, "float64": float, "bool": lambda text: text == "true", "text": str}


def expected(table, schema):
    """Rows of the CSV as Python's values, by the types of the schema."""
    with open(schema, encoding="utf-8") as file:
        types = {column["name"]: column["type"] for column in json.load(file)["columns"]}
    with open(table, newline="", encoding="utf-8") as file:
        return [{name: READ[types[name]](value) if value != "" else None for name, value in row.items()} for row in csv.DictReader(file)]


def plain(value):
    """A value of any of the packages as Python's."""
    if value is None or value is pandas.NA or isinstance(value, float) and math.isnan(value):
        return None
    value = value.item() if hasattr(value, "item") else value
    # CSV has an empty cell for an empty text, too.
    return None if value == "" else value


def main():
    table, schema, parquet = sys.argv[1:]
    rows = expected(table, schema)
    relation = duckdb.sql(f"select * from read_parquet('{parquet}')")
    packages = {
        "pandas": pandas.read_parquet(parquet, dtype_backend="pyarrow").to_dict("records"),
        "polars": polars.read_parquet(parquet).to_dicts(),
        "duckdb": [dict(zip(relation.columns, row)) for row in relation.fetchall()],
    }
    for package, found in packages.items():
        if len(found) != len(rows):
            raise SystemExit(f"{package}: {len(found)} rows where the CSV has {len(rows)}")
        for number, (one, other) in enumerate(zip(found, rows)):
            if list(one) != list(other):
                raise SystemExit(f"{package}: row {number} has other columns")
            differing = [name for name in other if plain(one[name]) != other[name]]
            if differing:
                name = differing[0]
                raise SystemExit(f"{package}: row {number}, `{name}` is {one[name]!r} where the CSV has {other[name]!r}")
        print(f"{package}: {len(rows)} rows of {len(rows[0])} columns equal to the CSV")


main()
