import { expect, test } from 'vitest';
import { HostFamilies, parseList, stillThere } from '#src/ps-table.ts';

// The columns of `ps -axo pid,ppid,pgid,rss,lstart`.
const list = (...lines: readonly string[]) =>
  parseList(lines.map((line) => `${line.replace(/ (\S+)$/, ' 8 Mon Nov 23 $1 2026')}\n`).join(''));

test('what was seen below a host stays its own when its parent ends, and a number that is given again does not', () => {
  const families = new HostFamilies();
  families.add(100);
  families.add(200);
  const first = list('100 1 100 10:00:00', '101 100 101 10:00:01', '102 101 101 10:00:02', '200 1 200 10:00:00');
  families.update(first);
  expect([families.of(100), families.of(200)]).toEqual([[101, 102], []]);
  expect(families.toTargets()).toEqual([-100, 101, 102, -200]);
  // 101 has ended, 102 belongs to the first process now and has started 103; 104 is of the host's group.
  const second = list('100 1 100 10:00:00', '102 1 101 10:00:02', '103 102 103 10:00:03', '104 1 100 10:00:03');
  families.update(second);
  expect(families.of(100).toSorted()).toEqual([102, 103, 104]);
  expect(families.toTargets().toSorted()).toEqual([-100, -200, 102, 103]);
  const left = families.remove(100);
  // Another process has the number 102 since.
  const third = list('102 1 102 11:00:00', '103 1 103 10:00:03', '104 1 100 10:00:03');
  expect(stillThere(left, third).toSorted()).toEqual([103, 104]);
  families.update(third);
  expect([families.of(100), families.isEmpty()]).toEqual([[], false]);
});
