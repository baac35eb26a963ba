"""The views: result table, recall browser, cached-token chart. Imported as `nbcontext.widgets`.

Data flows one way: the store's rows, a view's model (`results`, `recall`, `cache`: what is shown, windowed, sorted and
filtered here), the live widget (`live`, the one module that imports anywidget), and its ES module in `static/`.
"""
