"""The notebook of the docs, executed from its beginning to its end."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_the_notebook_of_the_docs_runs():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("pandas")
    notebook = nbformat.read(ROOT / "docs/notebook.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any("mandelbrot" in page for page in pages) and any("diverged: " in page for page in pages)
    assert sum("<tr" in page for page in pages) >= 4
    texts = "".join(output.get("text", "") for output in outputs)
    assert "out-of-bounds" in texts and "where the lanes went" in texts
