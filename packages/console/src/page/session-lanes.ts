import { html, nothing, svg, type TemplateResult } from 'lit-html';
import { moment, OUTCOME_SYMBOLS } from './page-parts.ts';
import { type CallRow, roundsOf, type SessionCall, toolOf } from './session-calls.ts';
import { toVisibleName } from './visible-text.ts';

// A picture of more lanes is no picture; their calls are in the list below it.
const MAX_LANES = 20;
const HEIGHT = 28;
const MIDDLE = HEIGHT / 2;

type Outcome = SessionCall['outcome'];

// Around 0,0, 10 units wide: told apart without colours.
const SHAPES: Readonly<Record<Outcome, TemplateResult>> = {
  success: svg`<circle r="4.5"></circle>`,
  retry: svg`<path d="M0-5.5L5.5 4.5H-5.5Z"></path>`,
  failed: svg`<path class="stroke" d="M-4.5-4.5L4.5 4.5M4.5-4.5L-4.5 4.5"></path>`,
  unknown: svg`<path class="stroke" d="M-4.5-4.5H4.5V4.5H-4.5ZM0-1V1"></path>`,
  pending: svg`<circle class="stroke" r="4"></circle>`,
  refused: svg`<path class="stroke" d="M0-11V11"></path>`,
};

type Axis = { readonly first: number; readonly last: number };

/**
 * What was called, round by round: rounds from left to right, a lane for each tool. A call that was refused is a tooth, so that a loop is
 * a comb. The list of calls says the same in words.
 */
export const lanesTemplate = (rows: readonly CallRow[]): unknown => {
  const [begin] = rows;
  const end = rows.at(-1)?.last;
  if (begin === undefined || end === undefined) return nothing;
  const lanes = [...Map.groupBy(rows, ({ last }) => toolOf(last))].map(([name, rows]) => ({
    name,
    marks: toMarks(rows),
  }));
  const rounds = lanes.flatMap(({ marks }) => marks.flatMap(({ rounds }) => rounds));
  const axis = { first: Math.min(...rounds), last: Math.max(...rounds) };
  const left = lanes.length - MAX_LANES;
  const used = new Set(rows.map(({ last }) => last.outcome));
  return html`<figure class="lanes" aria-label="Calls by round and tool">
    ${lanes.slice(0, MAX_LANES).map((lane) => laneTemplate(lane, axis))}
    <p class="row muted axis">
      <span>round ${axis.first}, ${moment(begin.last.time)}</span><span class="last">round ${axis.last}, ${moment(end.time)}</span>
    </p>
    <figcaption class="row muted">
      ${[...used].map((outcome) => html`<span class="row">${keyTemplate(outcome)} ${OUTCOME_SYMBOLS[outcome]} ${outcome}</span>`)}
      ${left > 0 ? html`<span>${left} more tools are in the list below.</span>` : nothing}
    </figcaption>
  </figure>`;
};

/** `place` is that among the marks of the same round, which are drawn a little below each other. */
type Mark = { readonly row: CallRow; readonly rounds: readonly number[]; readonly place: number };

const toMarks = (rows: readonly CallRow[]): readonly Mark[] => {
  let before = { step: 0, place: 0 };
  return rows.map((row) => {
    const { step, outcome } = row.last;
    const place = step === before.step ? (before.place + 1) % 3 : 0;
    const rounds = outcome === 'refused' ? roundsOf(row, before.step).slice(0, MAX_TEETH) : [step];
    before = { step, place };
    return { row, rounds, place };
  });
};

// Beyond this many teeth a comb has no gaps on any screen.
const MAX_TEETH = 400;

const laneTemplate = (
  { name, marks }: { readonly name: string; readonly marks: readonly Mark[] },
  axis: Axis,
): TemplateResult => {
  const shown = toVisibleName(name);
  return html`<div class="lane">
    <span class="name">${shown}</span>
    <svg height=${HEIGHT} width="100%" role="img" aria-label=${`${shown}: ${countOutcomes(marks)}`}>
      <line class="rail" x1="0" x2="100%" y1=${MIDDLE} y2=${MIDDLE}></line>
      ${marks.map((mark) => markTemplate(mark, axis))}
    </svg>
  </div>`;
};

const countOutcomes = (marks: readonly Mark[]): string =>
  [...Map.groupBy(marks, ({ row }) => row.last.outcome)]
    .map(([outcome, of]) => `${of.reduce((sum, { row }) => sum + row.times, 0)} ${outcome}`)
    .join(', ');

const markTemplate = ({ row, rounds, place }: Mark, axis: Axis): TemplateResult => {
  const { step, outcome, code, replayed, late } = row.last;
  const label = `round ${step}: ${outcome}${code === null ? '' : ` ${code}`}${row.times === 1 ? '' : `, ${row.times} times`}`;
  return svg`<g class=${`${outcome}${replayed ? ' replayed' : ''}${late === undefined ? '' : ' late'}`}>
    <title>${label}</title>
    ${rounds.map((round) => svg`<svg class="at" x=${placeOf(round, axis)} y=${MIDDLE + place * 4}>${SHAPES[outcome]}</svg>`)}
  </g>`;
};

// Between the margins, so that no mark is cut.
const placeOf = (round: number, { first, last }: Axis): string =>
  `${(2 + (96 * (round - first)) / Math.max(1, last - first)).toFixed(2)}%`;

const keyTemplate = (outcome: Outcome): TemplateResult =>
  html`<svg width="14" height="24" aria-hidden="true"><g class=${outcome}><svg class="at" x="7" y="12">${SHAPES[outcome]}</svg></g></svg>`;
