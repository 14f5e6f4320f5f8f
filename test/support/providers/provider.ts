/** A call that the scripted model makes. Ids are the script's, so that tests can name them. */
export type PlannedCall = {
  readonly id: string;
  readonly name: string;
  /** A text is said as it is, JSON or not; only OpenAI's models write their arguments as text. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
};

/** What the scripted model says in one turn. */
export type ModelTurn = { readonly calls: readonly PlannedCall[] } | { readonly text: string };

/** What the model reads of one call's result. `isError` is null where the provider has no such flag. */
export type Observation = {
  readonly id: string | null;
  readonly text: string;
  readonly isError: boolean | null;
};

/** A tool as a request offers it. */
export type OfferedTool = {
  readonly name: string;
  /** Its model names every property and says null for those it leaves out: OpenAI's strict mode. */
  readonly namesEveryProperty: boolean;
  readonly properties: readonly string[];
};

/** A conversation as the model sees it, whatever the provider's format. */
export type Conversation = {
  readonly question: string;
  readonly tools: readonly OfferedTool[];
  /** One entry per turn with calls, in order: its results, in the order in which they were sent. */
  readonly rounds: readonly (readonly Observation[])[];
};

/** Decides what the model says next. Throws where the conversation is not what the test expects. */
export type Script = (conversation: Conversation) => ModelTurn;

/** What a provider answers to a request that it does not take. */
export type Rejection = { readonly status: number; readonly body: unknown };

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export type Taken =
  | { readonly kind: 'rejected'; readonly rejection: Rejection }
  | { readonly kind: 'accepted'; readonly conversation: Conversation };

/** One provider's HTTP format: what it takes, what it refuses and in which words, and how it answers. */
export type Provider = {
  readonly servesPath: (path: string) => boolean;
  readonly take: (body: unknown, headers: Headers) => Taken;
  /** `place` counts the answers of one endpoint, so that ids differ. */
  readonly write: (turn: ModelTurn, place: number) => unknown;
};

/** Arguments for a provider whose calls carry objects. Throws where the script has a text, which no model of it can say. */
export const toObjectArguments = ({ name, arguments: given }: PlannedCall): Readonly<Record<string, unknown>> => {
  if (typeof given === 'string') throw new Error(`the arguments of ${name} are a text, and this provider has objects`);
  return given;
};

/** What a request that was refused has said. */
export const NOTHING_SAID: Conversation = { question: '', tools: [], rounds: [] };

/** The first rule that objects decides, as with the providers, which name one mistake at a time. */
export const firstObjection = <Request>(
  rules: readonly ((request: Request) => Rejection | null)[],
  request: Request,
): Rejection | null => {
  for (const rule of rules) {
    const rejection = rule(request);
    if (rejection !== null) return rejection;
  }
  return null;
};
