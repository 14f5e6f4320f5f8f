import { expect, test } from 'vitest';
import { toRateKey } from '#src/auth/rate-limits.ts';

const RATE = { requests: 5, windowMs: 1000 };
const ofAddress = (address: string): string => toRateKey(RATE, null, address);

test('a key tells nothing of whom it counts', () => {
  for (const key of [ofAddress('192.0.2.7'), toRateKey(RATE, 'acme/agent', '192.0.2.7')]) {
    expect(key).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(key).not.toMatch(/192|acme|agent/);
  }
});

test('it is the same in every process, and wherever a caller with a key comes from', () => {
  expect(toRateKey(RATE, 'acme', '192.0.2.7')).toBe('b1W4WDDTwj7gtf1_7UkgTyHVev2Tjm14Dq1TN3MPSXE');
  expect(toRateKey(RATE, 'acme', '2001:db8::1')).toBe(toRateKey(RATE, 'acme', '192.0.2.7'));
});

test('no two of these are the same caller', () => {
  const keys = [
    ofAddress('192.0.2.7'),
    ofAddress('192.0.2.8'),
    ofAddress('2001:db8::1'),
    ofAddress('2001:db8:0:1::1'),
    ofAddress('::1'),
    ofAddress(''),
    toRateKey(RATE, '192.0.2.7', '192.0.2.7'),
    toRateKey(RATE, 'acme', '192.0.2.7'),
    toRateKey(RATE, '', '192.0.2.7'),
    toRateKey({ requests: 6, windowMs: 1000 }, 'acme', '192.0.2.7'),
    toRateKey({ requests: 5, windowMs: 60_000 }, 'acme', '192.0.2.7'),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

test('all addresses of a /64 network are one caller, however they are written', () => {
  const spellings = [
    '2001:db8:0:7::1',
    '2001:db8:0:7::',
    '2001:DB8:0:7:ffff:ffff:ffff:ffff',
    '2001:0db8:0000:0007:0000:0000:0000:0001',
    '2001:db8:0:7::1%eth0',
  ];
  expect(new Set(spellings.map(ofAddress)).size).toBe(1);
});

test('an IPv4 address that is written as IPv6 is the same caller', () => {
  for (const spelling of ['::ffff:192.0.2.7', '::FFFF:c000:207'])
    expect(ofAddress(spelling)).toBe(ofAddress('192.0.2.7'));
  expect(ofAddress('::ffff:192.0.2.8')).not.toBe(ofAddress('192.0.2.7'));
});

test('what is no address is a caller, too', () => {
  for (const odd of ['', 'unknown', '/run/recourse.sock', '\0', ':'.repeat(10_000)])
    expect(ofAddress(odd)).toMatch(/^[A-Za-z0-9_-]{43}$/);
});
