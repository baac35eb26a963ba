"""What a person sees: text in, HTML, SVG and text out. Pure but for the parts it renders with."""
