"""The page of a report: HTML, its styles and its drawings, for report_html.py to fill in.

Colours never speak alone: whatever is green or red also has a mark or a word.
"""

from typing import Final

__all__ = ["TEMPLATE"]

_STYLE: Final = """\
:root{color-scheme:light dark;--page:#fbfbf9;--panel:#fff;--ink:#1d1f23;--soft:#5d636d;--line:#dcdfe4;--track:#eceef1;
--good:#0b7a4b;--bad:#b8301a;--maybe:#8a5a00;--good-soft:#dcf2e6;--bad-soft:#fbe3dd;--maybe-soft:#f8ecd0;--dot:#5b6f8f}
@media (prefers-color-scheme:dark){:root{--page:#15171a;--panel:#1d2024;--ink:#e8eaed;--soft:#a2a9b4;--line:#343941;
--track:#2a2f36;--good:#56cb95;--bad:#ff8f76;--maybe:#e5b34f;--good-soft:#12382a;--bad-soft:#46201a;--maybe-soft:#3d3013;
--dot:#8fa6cc}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:36px 0 10px}
p{margin:4px 0}
.soft{color:var(--soft)}
.mono,code{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:.92em}
.top{border-left:6px solid var(--line);padding:2px 0 2px 16px}
.top.passed{border-color:var(--good)}.top.failed{border-color:var(--bad)}
.say{font-size:1.02rem;overflow-wrap:anywhere}
.badge{display:inline-block;border-radius:4px;padding:0 7px;font-size:.86rem;font-weight:600;background:var(--track);color:var(--soft)}
.badge.passed{background:var(--good-soft);color:var(--good)}
.badge.failed{background:var(--bad-soft);color:var(--bad)}
.badge.uncertain{background:var(--maybe-soft);color:var(--maybe)}
.tiles{display:flex;flex-wrap:wrap;gap:10px;margin:20px 0 0}
.tile{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:10px 14px;flex:1 1 118px;min-width:0}
.tile.wide{flex:2 1 230px}
.tile b{display:block;font-size:1.5rem;line-height:1.2;font-weight:650}
.tile.failed b{color:var(--bad)}.tile.passed b{color:var(--good)}.tile.uncertain b{color:var(--maybe)}
.tile .mono{display:block;overflow-wrap:anywhere}
.panel{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:6px 16px}
.rate{display:grid;grid-template-columns:minmax(100px,160px) minmax(120px,1fr) 300px;gap:2px 16px;align-items:center;padding:9px 0;
border-top:1px solid var(--line)}
.rate:first-child{border-top:0}
.rate.all{font-weight:650}
.rate .name{overflow-wrap:anywhere}
.rate .num{font-variant-numeric:tabular-nums;font-weight:400}
.rate .num strong{font-weight:650}
.axis{padding:0 0 6px;border:0;color:var(--soft);font-size:.82rem}
.axis div{display:flex;justify-content:space-between;grid-column:2}
svg{display:block;width:100%;overflow:visible}
.track{fill:var(--track)}.span{fill:var(--dot);opacity:.45}.point{fill:var(--dot);stroke:var(--panel);stroke-width:2}
.passed .span,.passed .point{fill:var(--good)}.failed .span,.failed .point{fill:var(--bad)}
.uncertain .span,.uncertain .point{fill:var(--maybe)}
.tick{stroke:var(--ink);stroke-width:2}
.key{color:var(--soft);font-size:.86rem;padding:4px 0 6px}
.dot{fill:var(--dot)}.dot.failed{fill:var(--bad);stroke:var(--ink);stroke-width:1}
.base{stroke:var(--soft);stroke-width:1;stroke-dasharray:3 3}.plot text{fill:var(--soft);font-size:11px;text-anchor:middle}
.floor{stroke:var(--line);stroke-width:1}
.metric{display:grid;grid-template-columns:minmax(100px,160px) minmax(120px,1fr) 300px;gap:4px 16px;padding:12px 0;
border-top:1px solid var(--line);align-items:center}
.metric:first-child{border-top:0}
.ends{display:flex;justify-content:space-between;color:var(--soft);font-size:.82rem}
ul.plain{list-style:none;margin:0}
.check{padding:7px 0;border-top:1px solid var(--line);display:flex;gap:10px;align-items:baseline}
.check:first-child{border-top:0}
.check .badge{flex:none}
.trace{border-top:1px solid var(--line);padding:10px 0}
.trace:first-child{border-top:0}
.trace header{display:flex;flex-wrap:wrap;gap:2px 10px;align-items:baseline}
.trace header .mono{font-weight:600;overflow-wrap:anywhere}
.trace ul{margin:5px 0 0;padding-left:0;list-style:none}
.trace li{overflow-wrap:anywhere;padding-left:96px;text-indent:-96px}
.trace li .kind{display:inline-block;width:90px;text-indent:0;color:var(--soft);margin-right:6px}
.used{color:var(--soft);font-size:.88rem;font-variant-numeric:tabular-nums}
.history{width:auto;flex:none}
.cell.P{fill:var(--good)}.cell.F{fill:var(--bad)}.cell.M{fill:var(--maybe)}
summary{cursor:pointer;padding:8px 0;font-weight:600}
@media (max-width:640px){
main{padding:16px 12px 48px}
.rate,.metric{grid-template-columns:1fr}
.rate .name,.metric .name{font-weight:650}.name .soft{font-weight:400}
.axis div{grid-column:1}
.panel{padding:4px 12px}
.trace li{padding-left:0;text-indent:0}
.trace li .kind{width:auto}
.trace li .kind::after{content:":"}
}
@media print{body{background:none}details>*{display:block}}
"""

_TRACE: Final = """\
{% macro trace_of(trace) %}
<article class="trace">
<header><span class="badge {{ trace.status }}">{{ trace.mark }} {{ trace.status }}</span>
<span class="mono">{{ trace.id }}</span>
{% if trace.category %}<span class="soft">{{ trace.category }}</span>{% endif %}
{% if trace.change %}<span class="{{ 'badge failed' if trace.is_new else 'soft' }}">{{ trace.change }}</span>{% endif %}
{% if trace.is_flaky %}<span class="badge uncertain">flaky</span>{% endif %}
{% if trace.runs %}<span class="soft">{{ trace.runs }}</span>{% endif %}
{% if has_history and trace.history %}<svg class="history" width="{{ trace.history|length * 9 }}" height="12" role="img" \
aria-label="earlier reports, oldest first: {{ trace.history_text }}">
{% for cell in trace.history %}<rect class="cell {{ cell.kind }}" x="{{ cell.x }}" y="{{ 6 if cell.kind == 'F' else 1 if cell.kind == 'P' else 3 }}" \
width="7" height="{{ 5 if cell.kind != 'M' else 6 }}"><title>{{ cell.title }}</title></rect>{% endfor %}</svg>{% endif %}
<span class="used">{% for name, used, unit in trace.metrics if used %}{{ name }} {{ used }}{{ ' ' ~ unit if unit not in ('steps', 'tokens') }}\
{{ ' · ' if not loop.last }}{% endfor %}</span></header>
{% if trace.reasons or trace.notes %}
<ul>
{% for kind, message in trace.reasons %}<li><span class="kind">{{ kind }}</span>{{ message }}</li>
{% endfor %}
{% for kind, message in trace.notes %}<li class="soft"><span class="kind">{{ kind }}</span>{{ message }}</li>
{% endfor %}
</ul>
{% endif %}
</article>
{% endmacro %}
"""

TEMPLATE: Final = (
    _TRACE
    + """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ mark }} {{ title }}</title>
<style>
"""
    + _STYLE
    + """\
</style>
</head>
<body>
<main>
<div class="top {{ verdict }}">
<h1>{{ title }}</h1>
{% if description %}<p class="soft">{{ description }}</p>{% endif %}
<p class="say"><span class="badge {{ verdict }}">{{ mark }} {{ headline.partition(': ')[0] }}</span> {{ headline.partition(': ')[2] }}</p>
<p class="soft">strategy {{ strategy or 'not known' }}{% for key, value in versions %} · {{ key }} {{ value }}{% endfor %}</p>
</div>
<div class="tiles">
<div class="tile wide {{ verdict }}"><b>{{ rate }}</b>{{ counts }} passed <span class="soft">(95 % interval {{ interval }})</span></div>
{% for change in changes %}
<div class="tile {{ change.kind }}"><b>{{ change.count }}</b>{{ change.what }}</div>
{% endfor %}
</div>

<h2>Conditions</h2>
<ul class="plain panel">
{% for check in checks %}
<li class="check"><span class="badge {{ 'passed' if check.passed else 'failed' }}">{{ '✓ holds' if check.passed else '✗ fails' }}</span>
<span>{{ check.name }}{% if check.where %} of <b>{{ check.where }}</b>{% endif %}: {{ check.message }}</span></li>
{% endfor %}
</ul>

<h2>Pass rates</h2>
<div class="panel">
<p class="key">Point: the share that passed. Bar: where the true rate lies, 95 % sure. Line: what is asked for.</p>
{% for row in rows %}
<div class="rate {{ row.verdict }}{{ ' all' if row.is_all }}">
<div class="name">{{ row.name }}</div>
<svg height="22" role="img" aria-label="{{ row.text }}, interval {{ row.interval }}">
<rect class="track" x="0" y="7" width="100%" height="8" rx="4"/>
{% if row.total %}<rect class="span" x="{{ row.low }}" y="5" width="{{ row.width }}" height="12" rx="3"/>{% endif %}
{% if row.threshold is not none %}<line class="tick" x1="{{ row.threshold }}" x2="{{ row.threshold }}" y1="0" y2="22"/>{% endif %}
{% if row.total %}<circle class="point" cx="{{ row.share }}" cy="11" r="6"/>{% endif %}
</svg>
<div class="num"><strong>{{ row.text }}</strong> <span class="soft">({{ row.interval }})</span>
{% if row.says %}<br><span class="badge {{ row.verdict }}">{{ row.says }}</span> <span class="soft">{{ row.asked }}</span>{% endif %}</div>
</div>
{% endfor %}
<div class="rate axis"><div><span>0 %</span><span>50 %</span><span>100 %</span></div></div>
</div>

{% if metrics %}
<h2>What the runs used, against their baselines</h2>
<div class="panel">
<p class="key">A dot is a trace, at what it used divided by what its baseline used; the dashed line is as before.\
{% if metrics|selectattr('plot')|map(attribute='plot')|selectattr('has_over')|list %} Ringed: over its budget.{% endif %}</p>
{% for metric in metrics %}
<div class="metric">
<div class="name">{{ metric.name }}<br><span class="soft">{{ metric.says }}</span></div>
<div>
{% if metric.plot %}
<svg class="plot" height="{{ metric.plot.height }}" role="img" aria-label="{{ metric.name }}: {{ metric.says }}">
<text x="{{ metric.plot.one }}" y="9">1×</text>
<line class="floor" x1="0" x2="100%" y1="{{ metric.plot.height }}" y2="{{ metric.plot.height }}"/>
<line class="base" x1="{{ metric.plot.one }}" x2="{{ metric.plot.one }}" y1="13" y2="{{ metric.plot.height }}"/>
{% for dot in metric.plot.dots %}<circle class="dot {{ dot.kind }}" cx="{{ dot.x }}" cy="{{ dot.y }}" r="3"><title>{{ dot.title }}</title></circle>
{% endfor %}
</svg>
<div class="ends"><span>{{ metric.plot.low }}</span><span>{{ metric.plot.high }}</span></div>
{% else %}<span class="soft">as the baselines, trace by trace</span>{% endif %}
</div>
<div class="num">{{ metric.before }} → <strong>{{ metric.after }}</strong> {{ metric.unit }} in all <span class="soft">({{ metric.ratio }})</span></div>
</div>
{% endfor %}
</div>
{% endif %}

{% if failed %}
<h2>Failed traces ({{ failed|length }})</h2>
<div class="panel">
{% for trace in failed %}{{ trace_of(trace) }}{% endfor %}
</div>
{% endif %}
{% if notes %}
<h2>Notes</h2>
<ul class="plain panel">
{% for note in notes %}<li class="check">{{ note }}</li>
{% endfor %}
</ul>
{% endif %}
{% for change in changes if change.ids and change.what != 'newly failed' %}
<h2>{{ change.what[:1]|upper }}{{ change.what[1:] }}</h2>
<p class="mono" style="overflow-wrap:anywhere">{{ change.ids|join(', ') }}</p>
{% endfor %}
{% if others %}
<h2>Other traces</h2>
<details class="panel"{{ ' open' if others|length <= 20 }}>
<summary>{{ others|length }} that did not fail</summary>
{% for trace in others %}{{ trace_of(trace) }}{% endfor %}
</details>
{% endif %}
</main>
</body>
</html>
"""
)
