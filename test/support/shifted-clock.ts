// Loaded before a service (`node --import`): the clock of its machine is CLOCK_SHIFT_MS ahead. What measures time goes on as it is.

const shiftMs = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
const MachineDate = Date;
const now = (): number => MachineDate.now() + shiftMs;

globalThis.Date = new Proxy(MachineDate, {
  construct: (target, words, newTarget) => Reflect.construct(target, words.length === 0 ? [now()] : words, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + shiftMs });
