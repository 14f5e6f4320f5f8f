/** What of a client is needed to make scripts known to its servers. */
type ScriptServers = {
  /** Called at each new connection. */
  readonly onReady: (listener: () => void) => void;
  readonly isReady: () => boolean;
  /** Those that run scripts which write. */
  readonly servers: () => readonly { readonly script: (step: 'LOAD', lua: string) => Promise<unknown> }[];
};

const ignore = (): void => undefined;

/**
 * Sends each script to the servers before it is first run, and again at each new connection: a server that was restarted has
 * forgotten it. Best effort: the user of Redis may lack the right, and a script that a server does not know is sent whole.
 */
export const createPreload = ({ onReady, isReady, servers }: ScriptServers): ((lua: string) => void) => {
  const scripts = new Set<string>();
  const load = (lua: string): void => {
    for (const server of servers()) server.script('LOAD', lua).then(ignore, ignore);
  };
  onReady(() => {
    for (const lua of scripts) load(lua);
  });
  return (lua) => {
    if (scripts.has(lua)) return;
    scripts.add(lua);
    if (isReady()) load(lua);
  };
};
