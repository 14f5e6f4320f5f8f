import { checkForm } from '../check-forms.ts';
import { type FigureRow, type Figures, toFigureRow, toSection } from '../figures.ts';
import type { Form } from '../forms.ts';
import { type Lane, type LaneFigures, measureLanes } from '../measure-lanes.ts';
import { measureStarts } from '../measure-starts.ts';
import type { Part } from '../part.ts';
import { endServers, type Server, startService } from '../servers.ts';
import { MIN_RAW_TO_NATIVE } from '../targets.ts';

const TITLES = {
  native: 'native',
  anthropic_named: 'Anthropic, raw, `format` given',
  anthropic_detected: 'Anthropic, raw, detected',
  chat_detected: 'OpenAI chat, raw, detected',
  anthropic_and_results: 'Anthropic, results and messages',
  chat_and_results: 'OpenAI chat, results and messages',
} as const satisfies Partial<Record<Form, string>>;

const WITH_TARGET: readonly string[] = [TITLES.anthropic_named, TITLES.anthropic_detected, TITLES.chat_detected];
const BATCHES = [1, 32] as const;
const SESSIONS = 256;

/** The same calls as the service's own envelope and as messages of models, on one service. */
export const measureFormats = async (part: Part): Promise<readonly string[]> =>
  toSection('Provider formats', await measureStarts(part, measureForms));

const measureForms = async (part: Part): Promise<Figures> => {
  const service = await startService(part.surroundings);
  const [rows, lanes]: [FigureRow[], LaneFigures[]] = [[], []];
  for (const calls of BATCHES) {
    const figures = await measureLanes(part, await toLanes(service, calls));
    const [native, ...others] = figures;
    if (native === undefined) throw new Error('A lane was not measured.');
    for (const lane of others)
      rows.push(
        toFigureRow({
          what: `${lane.title}, ${calls} a batch`,
          lane,
          comparedTo: native,
          as: 'share',
          target: WITH_TARGET.includes(lane.title) ? MIN_RAW_TO_NATIVE : undefined,
        }),
      );
    lanes.push(...figures);
  }
  await endServers([service]);
  return { rows, lanes };
};

const toLanes = async (server: Server, calls: number): Promise<readonly Lane[]> => {
  const lanes: Lane[] = [];
  for (const form of [
    'native',
    'anthropic_named',
    'anthropic_detected',
    'chat_detected',
    'anthropic_and_results',
    'chat_and_results',
  ] as const) {
    await checkForm(server.url, form, calls);
    lanes.push({ title: TITLES[form], server, load: { form, calls, sessions: SESSIONS } });
  }
  return lanes;
};
