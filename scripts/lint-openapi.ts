import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import spectral from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';

// Holds an OpenAPI document to the recommended rules of Redocly and of Spectral. Errors and warnings fail alike.

const ROOT = join(import.meta.dirname, '..');
const file = process.argv[2] ?? join(ROOT, 'openapi/openapi.json');

/** Redocly's recommended rules, none switched off; its report goes to the terminal. True where nothing is wrong. */
const passesRedocly = (): boolean => {
  const args = ['lint', file, '--extends', 'recommended-strict', '--format', 'stylish'];
  // Nothing is sent anywhere, and nobody is asked for a newer version.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  return (
    spawnSync(join(ROOT, 'node_modules/.bin/redocly'), args, { env, stdio: 'inherit', timeout: 60_000 }).status === 0
  );
};

/** What breaks `spectral:oas`, a line each. */
const findSpectralProblems = async (): Promise<readonly string[]> => {
  const linter = new spectral.Spectral();
  linter.setRuleset(
    new spectral.Ruleset({
      extends: [[rulesets.oas, 'recommended']],
      rules: {
        // The document describes software that anybody runs: whom to turn to is theirs to say, and not known here.
        'info-contact': 'off',
        // As rulesets 1.23.1 has it, where a null in an example does not end the linter. Versions from 1.22.6 on depend on
        // @scarf/scarf, which sends data from a script at its installation, and so are not used here.
        'duplicated-entry-in-enum': {
          ...rulesets.oas.rules['duplicated-entry-in-enum'],
          given: "$..[?(@property !== 'properties' && @ != null && @.enum && @.enum.constructor.name === 'Array')]",
        },
      },
    }),
  );
  const problems = await linter.run(JSON.parse(readFileSync(file, 'utf8')));
  return problems.map(({ code, path, message }) => `${path.join('.')}: ${code}: ${message}`);
};

const isClean = passesRedocly();
const problems = await findSpectralProblems();
console.log(problems.length === 0 ? 'Spectral finds nothing.' : `Spectral finds:\n${problems.join('\n')}`);
if (!isClean || problems.length > 0) process.exitCode = 1;
