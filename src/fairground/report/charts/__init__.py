"""One kit for every chart: scales and ticks, marks in SVG, the percentile curve, and the pictures made of them. Pure."""
