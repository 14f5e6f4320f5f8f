import { expect, test } from 'vitest';
import { createRefusalPace } from '#src/queue/refusal-pace.ts';

const createLab = () => {
  const clock = { ms: 0 };
  const timers: (() => void)[] = [];
  const told: number[] = [];
  const pace = createRefusalPace({ now: () => clock.ms, later: (listener) => timers.push(listener) });
  const refuse = (from: number, to: number): readonly (() => void)[] =>
    Array.from({ length: to - from }, (_, place) => pace.tell(() => told.push(from + place)));
  const advance = (ms: number): void => {
    clock.ms += ms;
    for (const listener of timers.splice(0)) listener();
  };
  return { pace, told, refuse, advance, timers };
};

test('a hundred refusals are told at once, further ones in their order, five in 10 ms', () => {
  const { told, refuse, advance, timers } = createLab();
  refuse(0, 112);
  expect(told).toHaveLength(100);
  advance(10);
  expect(told).toHaveLength(105);
  refuse(112, 113);
  advance(10);
  advance(10);
  expect(told).toEqual(Array.from({ length: 113 }, (_, place) => place));
  expect(timers).toHaveLength(0);
});

test('a refusal that is called off is not told, and takes no one’s turn', () => {
  const { told, refuse, advance } = createLab();
  const callOff = refuse(0, 110);
  callOff[100]?.();
  callOff[100]?.();
  callOff[0]?.();
  advance(10);
  expect(told.slice(100)).toEqual([101, 102, 103, 104, 105]);
  callOff[101]?.();
  advance(100);
  expect(told.slice(105)).toEqual([106, 107, 108, 109]);
});

test('no more than 4096 are held: one more and the first is told', () => {
  const { told, refuse } = createLab();
  refuse(0, 4196);
  expect(told).toHaveLength(100);
  refuse(4196, 4198);
  expect(told.slice(100)).toEqual([100, 101]);
});

test('however many were told because too many were held, those that are held go on being told', () => {
  const { told, refuse, advance } = createLab();
  refuse(0, 10_000);
  expect(told).toHaveLength(10_000 - 4096);
  advance(10);
  expect(told).toHaveLength(10_000 - 4096 + 5);
});

test('a service that ends tells of all at once', () => {
  const { pace, told, refuse } = createLab();
  refuse(0, 150);
  pace.tellAll();
  expect(told).toHaveLength(150);
  refuse(150, 400);
  expect(told).toHaveLength(400);
});
