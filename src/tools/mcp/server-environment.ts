// What a program needs to find its files, its language and its temporary folder. None of it is a secret.
const BASICS = ['PATH', 'HOME', 'TZ', 'LANG', 'LC_ALL', 'TERM', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR'];
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];

/** All that a server process gets: the basics of the service's environment, and what its settings give it by name. */
export const toServerEnvironment = (
  environment: Readonly<Record<string, string | undefined>>,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => {
  const basics = [...BASICS, ...CERTIFICATES].flatMap((name) => {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(basics), ...given };
};
