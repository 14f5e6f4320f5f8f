// Loaded by `--import` into a service: writes what the process had loaded, when it ends, to the file it is told.
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const files: string[] = [];
registerHooks({
  load: (url, context, next) => {
    files.push(url);
    return next(url, context);
  },
});
process.on('exit', () => {
  const builtin: unknown = Reflect.get(process, 'moduleLoadList');
  writeFileSync(process.env['RECORDED_MODULES'] ?? '', JSON.stringify({ files, builtin }));
});
