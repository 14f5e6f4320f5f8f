import { html, nothing, type TemplateResult } from 'lit-html';
import type { Overview } from './api.ts';
import { namesOf, type Section, scrolled } from './overview-parts.ts';
import type { PageModel } from './page-model.ts';
import {
  changeTemplate,
  longText,
  moment,
  outcomeMark,
  some,
  toAge,
  toCount,
  toDuration,
  toLeft,
} from './page-parts.ts';
import { routeLink } from './route.ts';
import { toVisible, toVisibleExcerpt, toVisibleName } from './visible-text.ts';

type Circuit = Overview['circuits'][number];
type File = Overview['files'][number];
type Host = Overview['hosts'][number];

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

const toBytes = (bytes: number | null): string => {
  if (bytes === null) return 'unknown';
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const size = bytes / 1024 ** step;
  return `${size < 10 && step > 0 ? size.toFixed(1) : Math.round(size)} ${UNITS[step]}`;
};

const NEARLY = 0.9;

const isNearly = (used: number | null, limit: number | null): boolean =>
  used !== null && limit !== null && limit > 0 && used / limit >= NEARLY;

/** Which replicas say so, unless all of them do. */
const saidBy = (replicas: readonly string[], { replicas: all }: Overview): unknown =>
  replicas.length === 0 || replicas.length >= all.length
    ? nothing
    : html`<span class="muted">On ${namesOf(replicas)}, of ${all.length}</span>`;

const usage = (label: string, used: number | null, limit: number | null): TemplateResult =>
  html`${used === null || !limit ? nothing : html`<meter min="0" max=${limit} high=${limit * NEARLY} optimum="0" .value=${used} aria-label=${label}></meter>`}
    <span><b>${toBytes(used)}</b>${limit ? ` of ${toBytes(limit)}` : ''}</span>`;

export const storeSection = (_page: PageModel, { store }: Overview): Section => {
  const { kind, status, used_bytes: used, max_bytes: max } = store;
  const isFull = isNearly(used, max);
  const state = isFull ? 'nearly full' : status;
  return {
    isWrong: status === 'down' || isFull,
    title: 'Store',
    line: `${kind}, ${state}${used === null ? '' : `, ${toBytes(used)} used`}`,
    content: () => html`<p class="row">${usage('Used of the store', used, max)}</p>
      ${status === 'down' ? html`<p>Budgets, sessions and figures are those of one replica until the store is back.</p>` : nothing}`,
  };
};

export const replicasSection = (_page: PageModel, { at, replicas }: Overview): Section => {
  const silent = replicas.filter(({ is_silent: isSilent }) => isSilent);
  const age = (iso: string): string => toAge(Date.parse(at) - Date.parse(iso));
  return {
    isWrong: silent.length > 0,
    title: 'Replicas',
    line:
      silent.length > 0
        ? `${silent.length} of ${replicas.length} silent`
        : `${toCount(replicas.length, 'process', 'processes')}, none silent`,
    content: () =>
      scrolled(
        'Replicas',
        ['Replica', 'Role', 'Version', 'Started', 'Last seen', 'Loop lag p99', 'Heap', 'Calls', 'Queued'],
        replicas.map((replica) => [
          html`<span class="name">${toVisibleName(replica.replica)}</span>`,
          replica.role,
          toVisibleName(replica.version),
          `${age(replica.started_at)} ago`,
          replica.is_silent ? outcomeMark('failed', `${age(replica.seen_at)} ago`) : `${age(replica.seen_at)} ago`,
          replica.loop_lag_ms === null ? '–' : toDuration(replica.loop_lag_ms),
          toBytes(replica.heap_bytes),
          replica.calls_in_flight,
          replica.calls_queued,
        ]),
      ),
  };
};

export const circuitsSection = (page: PageModel, overview: Overview): Section => {
  const { circuits } = overview;
  return {
    isWrong: circuits.length > 0,
    title: 'Circuits',
    line: circuits.length === 0 ? 'none is open' : namesOf(circuits.map(({ name }) => name)),
    content: () =>
      circuits.length === 0
        ? html`<p class="muted">A circuit opens when a tool or an upstream fails again and again, and refuses its calls for a while.</p>`
        : html`<ul class="findings">${circuits.map((circuit) => circuitTemplate(page, overview, circuit))}</ul>`,
  };
};

const circuitTemplate = (page: PageModel, overview: Overview, circuit: Circuit): TemplateResult => {
  const { kind, state, opened_at: opened, open_until: until, failure, replicas, tools } = circuit;
  const name = toVisibleName(circuit.name);
  const path = `circuits/${encodeURIComponent(circuit.name)}`;
  const question = {
    title: `Close the circuit of ${name}?`,
    text: `Its calls run again at once, on every replica. The circuit opens again if they fail.`,
    label: 'Close the circuit',
  };
  const close = (): void => page.askDelete(question, path, `The circuit of ${name} is closed.`);
  const left = Date.parse(until) - Date.now();
  return html`<li>
    <div class="row">
      <span class="name strong">${name}</span> <span class="muted">${kind}</span>
      ${state === 'open' && left > 0 ? html`<span>tried again in <b class="left">${toLeft(left)}</b></span>` : html`<span>one call is tried now</span>`}
      <span class="muted">open since ${moment(opened)}</span> ${saidBy(replicas, overview)}
      <button type="button" class="quiet last" aria-label="Close the circuit of ${name}" @click=${close}>Close</button>
    </div>
    ${failure === null ? nothing : failureTemplate(failure)}
    ${kind === 'upstream' && tools.length > 0 ? html`<p class="muted">Refuses ${namesOf(tools)}.</p>` : nothing}
    ${changeTemplate(page, path)}
  </li>`;
};

const failureTemplate = ({
  tool,
  code,
  message,
  request_id: id,
  at,
}: NonNullable<Circuit['failure']>): TemplateResult =>
  html`<p class="message">${toVisibleExcerpt(message)}</p>
    <p class="muted">
      <code>${code}</code> of <span class="name">${toVisibleName(tool)}</span> at ${moment(at)}, request
      <code>${toVisibleName(id)}</code> · <a href=${routeLink({ calls: '', tool, code })} aria-label="Its calls: ${toVisibleName(tool)}, ${code}">Its calls</a>
    </p>`;

export const filesSection = (page: PageModel, overview: Overview): Section => {
  const { files } = overview;
  return {
    isWrong: files.length > 0,
    title: 'Tool files',
    line: files.length === 0 ? 'all of them load' : `${toCount(files.length, 'does', 'do')} not load`,
    content: () =>
      files.length === 0
        ? html`<p class="muted">A file that does not load is shown here with the place of the mistake.</p>`
        : html`<ul class="findings">${files.map((file) => fileTemplate(page, overview, file))}</ul>`,
  };
};

const fileTemplate = (page: PageModel, overview: Overview, { file, line, message, ...state }: File): TemplateResult =>
  html`<li>
    <div class="row">
      <code class="strong">${toVisibleName(file)}${line === null ? '' : `:${line}`}</code>
      ${state.older_version_serves ? html`<span>an older version serves ${namesOf(state.tools)}</span>` : html`<b>its tools are missing</b>`}
      ${saidBy(state.replicas, overview)}
    </div>
    ${longText(page, `file:${file}`, message)}
  </li>`;

// A process that is replaced because a call left something in it is no finding by itself.
const HARMLESS_RESTART = 'recycle';

const isUnsound = ({ restarts_by: by, memory_bytes: memory, limit_bytes: limit }: Host): boolean =>
  Object.entries(by).some(([reason, count]) => count > 0 && reason !== HARMLESS_RESTART) || isNearly(memory, limit);

export const hostsSection = (page: PageModel, overview: Overview): Section => {
  const { hosts } = overview;
  const unsound = hosts.filter(isUnsound);
  return {
    isWrong: unsound.length > 0,
    title: 'Tool hosts',
    line:
      unsound.length > 0 ? namesOf(unsound.map(({ file }) => file)) : `${toCount(hosts.length, 'host')}, none restarts`,
    // Those that restart come first.
    content: () => html`<ul class="findings">
      ${hosts.toSorted((one, other) => other.restarts - one.restarts).map((host) => hostTemplate(page, overview, host))}
    </ul>`,
  };
};

const hostTemplate = (page: PageModel, overview: Overview, host: Host): TemplateResult => {
  const reasons = Object.entries(host.restarts_by).map(([reason, count]) => `${toVisibleName(reason)} ${count}`);
  return html`<li>
    <div class="row">
      <code class="strong">${toVisibleName(host.file)}</code>
      ${host.files > 1 ? html`<span class="muted">and ${toCount(host.files - 1, 'more file')}</span>` : nothing}
      ${usage(`Memory of ${toVisibleName(host.file)}`, host.memory_bytes, host.limit_bytes)}
      <span>${toCount(host.processes, 'process', 'processes')}</span>
      <span><b>${host.restarts}</b> ${host.restarts === 1 ? 'restart' : 'restarts'} in the last hour${some(reasons, (all) => `: ${all.join(', ')}`)}</span>
      ${some(host.last_restart_at, (at) => html`<span class="muted">last ${moment(at)}</span>`)}
      ${saidBy(host.replicas, overview)}
    </div>
    ${some(host.recycled_for, (why) => html`<p class="message">Last replaced because of: ${toVisibleExcerpt(why)}</p>`)}
    ${some(host.last_words, (words) => longText(page, `host:${host.file}`, words))}
  </li>`;
};

const SOUND = new Set(['up', 'ready', 'connected']);

export const upstreamsSection = (_page: PageModel, overview: Overview): Section => {
  const { upstreams } = overview;
  const away = upstreams.filter(({ status }) => !SOUND.has(status));
  return {
    isWrong: away.length > 0,
    title: 'Upstreams',
    line: away.length > 0 ? namesOf(away.map(({ name }) => name)) : toQuietLine(upstreams.length, 'upstream', 'all up'),
    content: () => html`<ul class="findings">
      ${upstreams.map(
        ({ name, status, reason, tools, replicas }) => html`<li>
          <div class="row">
            <span class="name strong">${toVisibleName(name)}</span>
            ${outcomeMark(SOUND.has(status) ? 'success' : 'failed', toVisibleName(status))}
            <span class="muted">${toCount(tools, 'tool')}</span> ${saidBy(replicas, overview)}
          </div>
          ${some(reason, (why) => html`<p class="message">${toVisibleExcerpt(why)}</p>`)}
        </li>`,
      )}
    </ul>`,
  };
};

const toQuietLine = (count: number, noun: string, line: string): string =>
  count === 0 ? 'none is configured' : `${toCount(count, noun)}, ${line}`;

export const lanesSection = (_page: PageModel, { lanes }: Overview): Section => {
  const stuck = lanes.filter(({ queued, workers }) => queued > 0 && workers === 0);
  const queued = lanes.reduce((sum, lane) => sum + lane.queued, 0);
  return {
    isWrong: stuck.length > 0,
    title: 'Lanes and workers',
    line:
      stuck.length > 0
        ? `no worker takes ${namesOf(stuck.map(({ lane }) => lane))}`
        : `${toCount(queued, 'call')} queued`,
    content: () =>
      lanes.length === 0
        ? html`<p class="muted">No call runs in the background.</p>`
        : scrolled(
            'Lanes',
            ['Lane', 'Queued', 'Running', 'Oldest', 'Workers'],
            lanes.map(({ lane, queued, running, oldest_ms: oldest, workers }) => [
              html`<span class="name">${toVisibleName(lane)}</span>`,
              ...[queued, running, oldest === null ? '–' : toAge(oldest)],
              queued > 0 && workers === 0 ? outcomeMark('failed', 'none') : workers,
            ]),
          ),
  };
};

export const warningsSection = (_page: PageModel, overview: Overview): Section => {
  const { warnings } = overview;
  return {
    isWrong: warnings.length > 0,
    title: 'Warnings',
    line: warnings.length === 0 ? 'none' : toCount(warnings.length, 'warning'),
    content: () => html`<ul class="findings">
      ${warnings.map(
        ({ code, message, replicas }) => html`<li>
          <div class="row"><code class="strong">${toVisibleName(code)}</code> ${saidBy(replicas, overview)}</div>
          <p class="message">${toVisible(message)}</p>
        </li>`,
      )}
    </ul>`,
  };
};
