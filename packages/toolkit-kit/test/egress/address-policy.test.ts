import { expect, test } from 'vitest';
import { createFetchPolicy, isAnyAddress, isPublicAddress } from '#src/egress/address-policy.ts';

test.each(['8.8.8.8', '93.184.215.14', '::ffff:8.8.8.8', '2606:4700:4700::1111', '2a00:1450:4001:81b::200e'])(
  '%s is public',
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

test.each([
  ['this host', '0.0.0.0'],
  ['loopback', '127.255.255.254'],
  ['private', '10.0.0.1'],
  ['private', '172.31.255.255'],
  ['private', '192.168.1.1'],
  ['carrier-grade NAT, with the metadata of Alibaba', '100.100.100.200'],
  ['link-local, with the metadata of most clouds', '169.254.169.254'],
  ['the WireServer of Azure', '168.63.129.16'],
  ['the same, mapped', '::ffff:168.63.129.16'],
  ['protocol assignments, with the metadata of Oracle', '192.0.0.192'],
  ['benchmarking', '198.19.0.1'],
  ['documentation', '203.0.113.7'],
  ['6to4 relay', '192.88.99.1'],
  ['multicast', '239.1.2.3'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['unspecified', '::'],
  ['loopback', '::1'],
  ['mapped loopback', '::ffff:7f00:1'],
  ['compatible loopback', '::7f00:1'],
  ['translated loopback', '::ffff:0:7f00:1'],
  ['NAT64 around loopback', '64:ff9b::7f00:1'],
  ['NAT64 around a public address', '64:ff9b::808:808'],
  ['local NAT64', '64:ff9b:1::7f00:1'],
  ['6to4 around loopback', '2002:7f00:1::1'],
  ['Teredo', '2001::7f00:1'],
  ['unique local, with the metadata of AWS', 'fd00:ec2::254'],
  ['unique local', 'fc00::1'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['site-local', 'fec0::1'],
  ['multicast', 'ff02::1'],
  ['documentation', '2001:db8::1'],
  ['documentation', '3fff::1'],
  ['discard', '100::1'],
  ['dummy prefix', '100:0:0:1::1'],
  ['segment routing', '5f00::1'],
  ['not handed out', '4000::1'],
  ['not an address', 'localhost'],
  ['nothing', ''],
])('%s (%s) is not public', (_, address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test('a closed network may permit every address', () => {
  expect(isAnyAddress('127.0.0.1')).toBe(true);
});

const interfaceOf = (address: string, bits: number, family: 'IPv4' | 'IPv6') => ({
  address,
  netmask: '',
  mac: '00:00:00:00:00:00',
  internal: false,
  cidr: `${address}/${bits}`,
  ...(family === 'IPv4' ? { family } : { family, scopeid: 0 }),
});

const ATTACHED = {
  eth0: [interfaceOf('198.41.0.10', 24, 'IPv4'), interfaceOf('2a01:4f8:1:2::3', 64, 'IPv6')],
  tun0: [interfaceOf('9.9.9.1', 0, 'IPv4')],
};

test.each([
  ['198.41.0.10', false],
  ['198.41.0.77', false],
  ['::ffff:198.41.0.77', false],
  ['198.41.1.10', true],
  ['2a01:4f8:1:2::3', false],
  ['2a01:4f8:1:2:ffff::1', false],
  ['2a01:4f8:1:3::3', true],
  ['9.9.9.1', false],
  ['9.9.9.9', true],
  ['127.0.0.1', false],
  ['nonsense', false],
])('an address of this machine or of a network it is attached to is not fetched from: %s', (address, may) => {
  expect(createFetchPolicy({ allowed: [], interfaces: () => ATTACHED })(address)).toBe(may);
});

test.each([
  ['10.1.2.3', true],
  ['::ffff:10.1.2.3', true],
  ['10.2.0.1', false],
  ['198.41.0.77', true],
  ['198.41.0.78', false],
  ['fd00::1', true],
])('what the operator allows is fetched from, and nothing beside it: %s', (address, may) => {
  const allowed = ['10.1.0.0/16', '198.41.0.77', 'fd00::/64'];
  expect(createFetchPolicy({ allowed, interfaces: () => ATTACHED })(address)).toBe(may);
});
