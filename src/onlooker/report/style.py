"""How the page looks."""

STYLE = """
:root { color-scheme: light; --ink: #1c1e21; --soft: #5d646c; --line: #dfe3e7; --wash: #f5f7f9; --link: #1f5f9e; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1280px; background: #fff; color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 20px; margin: 44px 0 8px; padding-top: 12px; border-top: 1px solid var(--line); }
h3 { font-size: 16px; margin: 22px 0 6px; }
p { max-width: 82ch; margin: 6px 0; }
a { color: var(--link); }
nav { margin: 14px 0; display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 14px; }
.note, figcaption { color: var(--soft); font-size: 13px; }
.partial { background: #fff6e0; border-left: 4px solid #e0a100; padding: 8px 12px; margin: 12px 0; }
.error { background: #fde8e8; border-left: 4px solid #c0392b; padding: 8px 12px; margin: 12px 0; }
.wide { overflow-x: auto; margin: 4px 0 8px; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 7px; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap;
  vertical-align: top; }
th { background: var(--wash); font-weight: 600; border-bottom-color: #c6ccd2; }
th.n, td.n { text-align: right; }
tbody tr:hover { background: var(--wash); }
td.long { white-space: normal; min-width: 320px; }
tr.first td { border-top: 2px solid #c6ccd2; }
td[data-verdict=above] { color: #14713d; }
td[data-verdict=below] { color: #b3261e; }
td[data-verdict=level] { color: #6a5300; }
#runs th { cursor: pointer; }
#runs pre { font-size: 12px; line-height: 1.35; margin: 4px 0; }
details > summary { cursor: pointer; color: var(--link); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 6px; margin: 8px 0; position: sticky; top: 0; z-index: 2;
  padding: 4px 0; background: #fffffff2; }
.legend button { font: inherit; font-size: 13px; background: none; border: 1px solid transparent; border-radius: 4px;
  padding: 1px 6px; cursor: pointer; display: inline-flex; align-items: center; gap: 6px; color: var(--ink); }
.legend button:hover { border-color: var(--line); background: var(--wash); }
.legend button[aria-pressed=false] { color: #a4aab0; text-decoration: line-through; }
.legend i { width: 18px; height: 0; border-top: 3px solid; }
.legend i.dashed { border-top-style: dashed; border-top-width: 2px; }
.legend i.dotted { border-top-style: dotted; border-top-width: 2px; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(255px, 1fr)); gap: 14px; }
.panels:has(> figure:only-child) { grid-template-columns: minmax(0, 440px); }
figure { margin: 0; position: relative; min-width: 0; }
figcaption { font-size: 11px; padding-left: 13%; }
.videos figcaption { font-size: 12px; padding: 0; }
svg.chart { width: 100%; height: auto; display: block; touch-action: pan-y; }
svg.chart text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg.chart text.title { font-size: 13px; font-weight: 600; fill: var(--ink); }
.tip { position: absolute; pointer-events: none; background: #fffffff5; border: 1px solid #c6ccd2; border-radius: 4px;
  padding: 4px 8px; font-size: 12px; line-height: 1.4; white-space: nowrap; z-index: 3; display: none;
  box-shadow: 0 1px 4px #0002; font-variant-numeric: tabular-nums; }
.tip b { font-weight: 600; }
.tip span { display: inline-block; width: 10px; height: 10px; margin-right: 6px; border-radius: 2px; }
.videos video, .videos img { width: 100%; background: var(--wash); }
@media (max-width: 760px) { body { padding: 14px; } .panels { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media (max-width: 520px) { .panels { grid-template-columns: 1fr; } }
@media print { .legend { position: static; } }
"""
