import { expect, test } from 'vitest';
import { parseRoute, routeLink } from '#src/page/route.ts';

test.each([
  ['', { page: 'overview', section: null }],
  ['#', { page: 'overview', section: null }],
  ['#nothing=known', { page: 'overview', section: null }],
  ['#overview=circuits', { page: 'overview', section: 'circuits' }],
  ['#tools', { page: 'tools', tool: null }],
  ['#tool=read_file', { page: 'tools', tool: 'read_file' }],
  ['#reports', { page: 'reports' }],
  ['#sessions=blocked', { page: 'sessions', state: 'blocked' }],
  ['#sessions=__proto__', { page: 'sessions', state: 'failing' }],
  ['#session=', { page: 'sessions', state: 'recent' }],
  ['#session=s_42', { page: 'session', id: 's_42' }],
  [`#session=~${'ab'.repeat(32)}`, { page: 'session', id: `~${'ab'.repeat(32)}` }],
  ['#calls=&tool=pay&code=timeout', { page: 'calls', tool: 'pay', code: 'timeout', since: '' }],
  ['#calls=', { page: 'calls', tool: '', code: '', since: '' }],
  ['#call=r_1', { page: 'call', reference: 'r_1', request: '', index: '' }],
  ['#call=r_1&request_id=q_1&index=2', { page: 'call', reference: 'r_1', request: 'q_1', index: '2' }],
  ['#pending=&tool=pay', { page: 'pending', tool: 'pay' }],
  ['#unknown', { page: 'unknown' }],
  ['#approvals', { page: 'approvals', id: null }],
  ['#approvals=a_1', { page: 'approvals', id: 'a_1' }],
  ['#search=a+%26+b', { page: 'search', text: 'a & b' }],
  ['#page=clock', { page: 'extension', name: 'clock' }],
] as const)('%s is an address', (fragment, route) => {
  expect(parseRoute(fragment)).toEqual(route);
});

test('a name of a stranger stays one name in an address', () => {
  const tool = 'a&page=x#"<b>=\u202e';
  expect(parseRoute(routeLink({ tool }))).toEqual({ page: 'tools', tool });
});
