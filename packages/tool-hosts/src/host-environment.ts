type EnvironmentRules = {
  /** The service's own. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** TOOLS_ENV. */
  readonly shared: readonly string[];
  /** TOOLS_ENV_ALLOW: names, or beginnings of names such as `GITHUB_*`. */
  readonly allowed: readonly string[];
};

const ALWAYS = ['PATH', 'HOME', 'TZ', 'LANG', 'NODE_EXTRA_CA_CERTS'];
// Compiled code is kept where the service keeps its own: a host starts in half the time.
const OF_NODE = ['NODE_COMPILE_CACHE'];

/** The name of the variable by which a host's descendants are known, wherever they have gone. */
export const HOST_MARK = 'RECOURSE_TOOL_HOST';

/** All that a host gets of the service's environment: nothing that it was not given by name. */
export const createHostEnvironment = (
  asked: readonly string[],
  rules: EnvironmentRules,
): Readonly<Record<string, string>> => {
  const names = [...ALWAYS, ...OF_NODE, ...rules.shared, ...asked.filter((name) => isAllowedName(name, rules.allowed))];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Object.hasOwn(rules.environment, name) ? rules.environment[name] : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );
};

/** Whether one of the rules is this name, or its beginning with `*`. */
export const isAllowedName = (name: string, allowed: readonly string[]): boolean =>
  allowed.some((rule) => (rule.endsWith('*') ? name.startsWith(rule.slice(0, -1)) : name === rule));

/** Whether a tool that asks for this name gets a value: it is allowed, and there is one. */
export const isGrantedName = (
  name: string,
  environment: EnvironmentRules['environment'],
  allowed: readonly string[],
): boolean => isAllowedName(name, allowed) && Object.hasOwn(environment, name) && environment[name] !== undefined;
