import { askSession } from './session/ask-session.ts';
import { readOptions, type SessionOptions, USAGE } from './session/read-options.ts';
import { isUnseen, toOverview } from './session/to-overview.ts';
import { toTimeline } from './session/to-timeline.ts';

const UNSEEN = 'Nothing is known of it: it was never used, was forgotten, or belongs to another tenant.';

// A file or another program gets whole lines; only a terminal would break them. Some do not know their width.
const width = (): number => (process.stdout.columns > 0 ? process.stdout.columns : Number.POSITIVE_INFINITY);

// JSON.stringify leaves these as they are, and a terminal may take them for commands, or write backwards.
const escapeForTerminal = (json: string): string =>
  json.replace(/[\u007f-\u009f\p{Cf}]/gu, (sign) =>
    [...Array(sign.length).keys()].map((at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );

const show = async (options: SessionOptions): Promise<0 | 1> => {
  const asked = await askSession(options);
  if (!asked.ok) {
    console.error(asked.problem);
    return 1;
  }
  const { view, body } = asked;
  if (options.format === 'json') console.log(escapeForTerminal(JSON.stringify(body, null, 2)));
  else
    console.log(`${toOverview(options.id, view, width())}\n\n${isUnseen(view) ? UNSEEN : toTimeline(view, width())}`);
  return 0;
};

const main = async (): Promise<0 | 1 | 2> => {
  const read = readOptions(process.argv.slice(2), process.env);
  if (read.kind === 'show') return show(read.options);
  if (read.kind === 'help') {
    console.log(USAGE);
    return 0;
  }
  console.error(`${read.problem}\n\n${USAGE}`);
  return 2;
};

process.exitCode = await main();
