import { html, nothing, svg, type TemplateResult } from 'lit-html';
import { moment, OUTCOME_SYMBOLS } from './page-parts.ts';
import { nameOf, type SessionCall } from './session-calls.ts';
import { toVisibleName } from './visible-text.ts';

// A picture of more lanes is no picture; their calls are in the list below it.
const MAX_LANES = 20;
const HEIGHT = 28;
const MIDDLE = HEIGHT / 2;

type Outcome = SessionCall['outcome'];

// Around 0,0, 10 units wide: told apart without colours.
const SHAPES: Readonly<Record<Exclude<Outcome, 'refused'>, TemplateResult>> = {
  success: svg`<circle r="4.5"></circle>`,
  retry: svg`<path d="M0-5.5L5.5 4.5H-5.5Z"></path>`,
  failed: svg`<path class="stroke" d="M-4.5-4.5L4.5 4.5M4.5-4.5L-4.5 4.5"></path>`,
  unknown: svg`<path class="stroke" d="M-4.5-4.5H4.5V4.5H-4.5ZM0-1V1"></path>`,
  pending: svg`<circle class="stroke" r="4"></circle>`,
};
const TOOTH = svg`<path class="stroke" d="M0-11V11"></path>`;

type Axis = { readonly first: number; readonly last: number };

/**
 * What was called, round by round: rounds from left to right, a lane for each tool. A call that was refused is a tooth, so that a loop is
 * a comb. The list of calls says the same in words.
 */
export const lanesTemplate = (calls: readonly SessionCall[]): unknown => {
  const lanes = [...Map.groupBy(calls, nameOf)];
  const [begin] = calls;
  const end = calls.at(-1);
  if (begin === undefined || end === undefined) return nothing;
  const axis = { first: Math.min(...calls.map(firstRound)), last: Math.max(...calls.map(({ step }) => step)) };
  const left = lanes.length - MAX_LANES;
  const used = new Set(calls.map(({ outcome }) => outcome));
  return html`<figure class="lanes" aria-label="Calls by round and tool">
    ${lanes.slice(0, MAX_LANES).map(([name, calls]) => laneTemplate(name, calls, axis))}
    <p class="row muted axis">
      <span>round ${axis.first}, ${moment(begin.time)}</span><span class="last">round ${axis.last}, ${moment(end.time)}</span>
    </p>
    <figcaption class="row muted">
      ${[...used].map((outcome) => html`<span class="row">${keyTemplate(outcome)} ${OUTCOME_SYMBOLS[outcome]} ${outcome}</span>`)}
      ${left > 0 ? html`<span>${left} more tools are in the list below.</span>` : nothing}
    </figcaption>
  </figure>`;
};

// Of repeats the journal has the last one.
const firstRound = ({ step, repeats = 1 }: SessionCall): number => Math.max(1, step - repeats + 1);

const laneTemplate = (name: string, calls: readonly SessionCall[], axis: Axis): TemplateResult => {
  const shown = toVisibleName(name);
  return html`<div class="lane">
    <span class="name">${shown}</span>
    <svg height=${HEIGHT} width="100%" role="img" aria-label=${`${shown}: ${countOutcomes(calls)}`}>
      <line class="rail" x1="0" x2="100%" y1=${MIDDLE} y2=${MIDDLE}></line>
      ${calls.map((call, index) => markTemplate(call, axis, placeIn(calls, index)))}
    </svg>
  </div>`;
};

const countOutcomes = (calls: readonly SessionCall[]): string =>
  [...Map.groupBy(calls, ({ outcome }) => outcome)]
    .map(([outcome, of]) => `${of.reduce((sum, { repeats = 1 }) => sum + repeats, 0)} ${outcome}`)
    .join(', ');

/** Which of the calls of its round this one is; they are drawn a little below each other. */
const placeIn = (calls: readonly SessionCall[], index: number): number => {
  let place = 0;
  while (index - place > 0 && calls[index - place - 1]?.step === calls[index]?.step) place += 1;
  return place % 3;
};

// Beyond this many teeth a comb has no gaps on any screen.
const MAX_TEETH = 200;

const markTemplate = (call: SessionCall, axis: Axis, place: number): TemplateResult => {
  const { step, outcome, code } = call;
  const first = Math.max(firstRound(call), step - MAX_TEETH);
  const rounds = outcome === 'refused' ? [...Array(step - first + 1).keys()].map((each) => first + each) : [step];
  const label = `round ${step}: ${outcome}${code === null ? '' : ` ${code}`}${call.repeats === undefined ? '' : `, ${call.repeats} times`}`;
  const shape = outcome === 'refused' ? TOOTH : SHAPES[outcome];
  return svg`<g class=${`${outcome}${call.replayed ? ' replayed' : ''}${call.late === undefined ? '' : ' late'}`}>
    <title>${label}</title>
    ${rounds.map((round) => svg`<svg class="at" x=${placeOf(round, axis)} y=${MIDDLE + place * 4}>${shape}</svg>`)}
  </g>`;
};

// Between the margins, so that no mark is cut.
const placeOf = (round: number, { first, last }: Axis): string =>
  `${(2 + (96 * (round - first)) / Math.max(1, last - first)).toFixed(2)}%`;

const keyTemplate = (outcome: Outcome): TemplateResult =>
  html`<svg width="14" height="24" aria-hidden="true"><g class=${outcome}><svg class="at" x="7" y="12">${outcome === 'refused' ? TOOTH : SHAPES[outcome]}</svg></g></svg>`;
