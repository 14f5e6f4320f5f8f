import { html, svg, type TemplateResult } from 'lit-html';

/** What a chart draws: one number for each minute; null: nothing was measured. `look` names its colour. */
export type Series = { readonly look: string; readonly values: readonly (number | null)[] };

const WIDTH = 240;
const HEIGHT = 48;

/** Lines or bars over the last hour. `about` tells a screen reader what they come to; the numbers themselves stand in a table. */
export const chartTemplate = (kind: 'bars' | 'lines', about: string, series: readonly Series[]): TemplateResult => {
  const most = Math.max(1, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const draw = kind === 'bars' ? drawBars : drawLine;
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${about}>
    ${series.map(({ look, values }) => svg`<path class="${kind} ${look}" d=${draw(values, most)} />`)}
  </svg>`;
};

const toHeight = (value: number, most: number): string => (HEIGHT - (value / most) * (HEIGHT - 2)).toFixed(1);

const drawBars = (values: readonly (number | null)[], most: number): string => {
  const step = WIDTH / values.length;
  const bar = (value: number, at: number): string =>
    `M${(at * step).toFixed(1)} ${HEIGHT}V${toHeight(value, most)}h${(step * 0.8).toFixed(1)}V${HEIGHT}Z`;
  return values.map((value, at) => (value ? bar(value, at) : '')).join('');
};

// A minute without a value leaves a gap; one between two gaps is a dot as long as the line is thick.
const drawLine = (values: readonly (number | null)[], most: number): string => {
  const step = WIDTH / Math.max(1, values.length - 1);
  let isDown = false;
  const point = (value: number | null, at: number): string => {
    const command = isDown ? 'L' : 'M';
    isDown = value !== null;
    return value === null ? '' : `${command}${(at * step).toFixed(1)} ${toHeight(value, most)}h0.1`;
  };
  return values.map(point).join('');
};
