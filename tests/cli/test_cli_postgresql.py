"""The command line over a PostgreSQL database, rows and ledger both; no password is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("typer", reason="typer is not installed")
pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")

from cli_folder import discreet


def test_rows_and_ledger_in_a_database(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = server.new_schema()
    with server.connect(schema) as connection:
        connection.execute("CREATE TABLE visits (age FLOAT8, ward TEXT)")
        connection.execute("INSERT INTO visits SELECT 20 + i % 60, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END "
                           "FROM generate_series(1, 2000) i")  # fmt: skip
    place = f"'{server.url(schema)}'"
    secret = server.url(schema).split("@")[0].split(":")[-1]
    common = f"--table visits --bounds age=0:120 --classes ward=a,b --ledger {place} --limit 5:1e-6"
    ran = [
        discreet(f"schema init {place} --table visits"),
        discreet(f"fit classifier {place} {common} --target ward --epsilon 1"),
        discreet(f"query {place} mean age {common} --share 0.2"),
        discreet(f"budget show {place}"),
        discreet(f"budget show {place.replace(secret, 'wrongword')}"),
        discreet(f"schema init {place.replace(secret, 'wrongword')} --table visits"),
        discreet(f"fit kmeans {place} --bounds age=0:120 --epsilon 1 --out other.json"),
    ]
    assert [one.code for one in ran] == [0, 0, 0, 0, 1, 1, 2]
    assert "[columns.ward]  # text" in ran[0].out
    assert "write --table visits" in ran[6].err
    assert ran[3].out.splitlines()[1].split()[:2] == [f"{schema}.visits", "row"]
    for one in ran:
        assert not any(word in one.printed for word in (server.password, secret, "wrongword"))
    assert Path("model.json").exists()
