"""The views: result table, recall browser, cached-token chart. Imported as `nbcontext.widgets`."""
