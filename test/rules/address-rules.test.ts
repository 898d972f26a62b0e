import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { refusedAddress } from '../../src/peer/address-rules.ts'
import { judgeUrl, liesBelow, type PeerPolicy } from '../../src/peer/url-rules.ts'

/** The first and last address of each range. */
const never: readonly [range: string, ...addresses: string[]][] = [
  ['this network', '0.0.0.0', '0.1.2.3', '0.255.255.255'],
  ['link-local and metadata', '169.254.0.0', '169.254.169.254', '169.254.255.255'],
  ['protocol assignments', '192.0.0.0', '192.0.0.8', '192.0.0.192', '192.0.0.255'],
  ['documentation 1', '192.0.2.0', '192.0.2.255'],
  ['6to4 relays', '192.88.99.1'],
  ['benchmarking', '198.18.0.0', '198.19.255.255'],
  ['documentation 2', '198.51.100.0', '198.51.100.255'],
  ['documentation 3', '203.0.113.0', '203.0.113.255'],
  ['multicast', '224.0.0.0', '239.255.255.255'],
  ['reserved', '240.0.0.0', '255.255.255.254'],
  ['broadcast', '255.255.255.255'],
  ['metadata of clouds outside link-local', '100.100.100.200', '168.63.129.16'],
  ['unspecified', '::', '0:0:0:0:0:0:0:0'],
  ['IPv4-compatible', '::7f00:1', '::127.0.0.1', '::808:808'],
  ['mapped, dotted', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:169.254.169.254', '::ffff:8.8.8.8'],
  ['mapped, hexadecimal', '::ffff:7f00:1', '::ffff:a9fe:a9fe', '0:0:0:0:0:ffff:7f00:1', '::FFFF:7F00:1'],
  ['translated', '::ffff:0:127.0.0.1', '::ffff:0:7f00:1'],
  ['NAT64', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b::127.0.0.1', '64:ff9b:1::a00:1', '64:ff9b::808:808'],
  ['6to4', '2002:7f00:1::', '2002:a00:1::1', '2002:a9fe:a9fe::', '2002:808:808::1'],
  ['Teredo', '2001::', '2001:0:7f00:1::1', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['protocol assignments, IPv6', '2001:1::1', '2001:2::1', '2001:10::1', '2001:20::1', '2001:1ff::1'],
  ['documentation, IPv6', '2001:db8::', '2001:db8:ffff::1', '3fff::1'],
  ['discard', '100::', '100::ffff:ffff:ffff:ffff'],
  ['link-local, IPv6', 'fe80::', 'fe80::1', 'fe80::a9fe:a9fe', 'febf:ffff::1'],
  ['site-local', 'fec0::1', 'feff::1'],
  ['multicast, IPv6', 'ff00::', 'ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['outside global unicast', '200::1', '1000::1', '4000::1', '8000::1', 'c000::1', 'f000::1', '5f00::1'],
  ['metadata of clouds in unique local ranges', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'],
  ['with a zone', 'fe80::1%eth0', 'fe80::1%1', '::1%lo', 'fd12::1%eth0', '2606:4700::1111%eth0'],
]

const privateOnly: readonly [range: string, ...addresses: string[]][] = [
  ['10/8', '10.0.0.0', '10.1.2.3', '10.255.255.255'],
  ['100.64/10', '100.64.0.0', '100.100.100.199', '100.127.255.255'],
  ['127/8', '127.0.0.0', '127.0.0.1', '127.255.255.254', '127.255.255.255'],
  ['172.16/12', '172.16.0.0', '172.31.255.255'],
  ['192.168/16', '192.168.0.0', '192.168.255.255'],
  ['::1', '::1', '0:0:0:0:0:0:0:1'],
  ['fc00::/7', 'fc00::', 'fc00::1', 'fd12:3456::1', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
]

const always = [
  ['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.1'],
  ['169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.0.3.0', '192.167.255.255'],
  ['192.169.0.0', '198.17.255.255', '198.20.0.0', '198.51.99.255', '203.0.112.255', '203.0.114.0', '223.255.255.255'],
  ['168.63.129.17', '2001:200::1', '2001:4860:4860::8888', '2606:4700:4700::1111', '2a00:1450::1'],
].flat()

const notAddresses = [
  [
    '',
    ' ',
    '127',
    '127.1',
    '127.0.1',
    '0',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '0177.0.0.1',
    '010.0.0.1',
    '8.8.8.08',
  ],
  ['8.8.8.8 ', ' 8.8.8.8', '8.8.8.8.', '8.8.8', '256.1.1.1', '8.8.8.8/32', '8.8.8.8:80', '[::1]', 'localhost', ':::'],
  ['1:2', '2606:4700::1111::1', '2606:4700::1111/64', 'example.com', '１２７.0.0.1'],
].flat()

describe('an address', () => {
  for (const [range, ...addresses] of never) {
    it(`in the range “${range}” is rejected under every policy: ${addresses.join(', ')} (OUT-01, OUT-02)`, () => {
      for (const address of addresses) {
        assert.equal(typeof refusedAddress(address, false), 'string', address)
        assert.equal(typeof refusedAddress(address, true), 'string', address)
      }
    })
  }

  for (const [range, ...addresses] of privateOnly) {
    it(`of ${range} is rejected unless private peers are allowed: ${addresses.join(', ')} (OUT-01, OUT-02)`, () => {
      for (const address of addresses) {
        assert.equal(typeof refusedAddress(address, false), 'string', address)
        assert.equal(refusedAddress(address, true), null, address)
      }
    })
  }

  it('of a public range is allowed, up to the neighbors of the special ranges (OUT-01, OUT-02)', () => {
    for (const address of always) {
      assert.equal(refusedAddress(address, false), null, address)
      assert.equal(refusedAddress(address, true), null, address)
    }
  })

  it('in an unusual spelling is rejected (OUT-03)', () => {
    for (const address of notAddresses) {
      assert.equal(typeof refusedAddress(address, false), 'string', address)
      assert.equal(typeof refusedAddress(address, true), 'string', address)
    }
  })
})

const strict: PeerPolicy = { allowPrivatePeers: false, allowHttp: false }
const withHttp: PeerPolicy = { allowPrivatePeers: false, allowHttp: true }
const withPrivate: PeerPolicy = { allowPrivatePeers: true, allowHttp: false }
const isAllowed = (url: string, policy: PeerPolicy): boolean => 'url' in judgeUrl(url, policy)

const oddHosts = [
  'https://127.1/',
  'https://0x7f.1/',
  'https://0177.1/',
  'https://0177.0.0.1/',
  'https://2130706433/',
  'https://0/',
  'https://127.0.0.1./',
  'https://8.8.8.8./',
  'https://134744072/',
  'https://peer.example./',
  'https://localhost./',
  'https://peer%2eexample/',
  'https://%31%32%37.0.0.1/',
  'https://loc%61lhost/',
  'https://ｐｅｅｒ.example/',
  'https://１２７.0.0.1/',
  'https://①②⑦.⓪.⓪.①/',
  'https://peer。example/',
  'https://peer\u00ad.example/',
  'https://[::ffff:127.0.0.1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[fe80::1%25eth0]/',
  'https://[::1%lo]/',
  'https://peer.example\\@127.0.0.1/',
  'https:\\\\peer.example/',
  'https:/peer.example/',
  'https:peer.example/',
  'https:///peer.example/',
  ' https://peer.example/',
  'https://peer.ex\tample/',
  'https://peer.ex\nample/',
  'https://peer.example:0443/',
  'https://peer.example:/',
]

describe('the URL of a peer', () => {
  for (const url of oddHosts) {
    it(`with a host in an unusual spelling is rejected: ${JSON.stringify(url)} (OUT-03)`, () => {
      assert.equal(isAllowed(url, strict), false)
      assert.equal(isAllowed(url, withPrivate), false)
    })
  }

  const refused: readonly [why: string, ...urls: string[]][] = [
    ['of another scheme', 'ftp://peer.example/', 'file:///etc/passwd', 'gopher://peer.example/', 'data:text/plain,x'],
    ['of a scheme without a host', 'javascript:alert(1)', 'blob:https://peer.example/1', 'about:blank'],
    [
      'of a WebSocket or a local socket',
      'ws://peer.example/',
      'wss://peer.example/',
      'unix:/run/x.sock',
      'http+unix://x/',
    ],
    ['with credentials', 'https://user:pw@peer.example/', 'https://user@peer.example/', 'https://:pw@peer.example/'],
    ['with credentials that look like a host', 'https://peer.example@evil.example/'],
    ['with an empty user', 'https://@peer.example/'],
    ['that is not valid', '', 'peer.example', '/actor', '//peer.example/', 'https://', 'https://peer example/', 'null'],
    ['of a metadata service', 'https://metadata.google.internal/', 'https://metadata/', 'https://METADATA.goog/'],
    ['of a metadata service', 'https://instance-data.ec2.internal/', 'https://instance-data/'],
    ['with the port of SSH', 'https://peer.example:22/', 'http://peer.example:22/'],
    ['with a port for email', 'https://peer.example:25/', 'https://peer.example:465/', 'https://peer.example:587/'],
    ['with another port below 1024', 'https://peer.example:0/', 'https://peer.example:1/', 'https://peer.example:21/'],
    [
      'with another port below 1024',
      'https://peer.example:53/',
      'https://peer.example:79/',
      'https://peer.example:1023/',
    ],
  ]
  for (const [why, ...urls] of refused) {
    it(`${why} is rejected under every policy: ${urls.join(' ')} (OUT-09)`, () => {
      for (const url of urls) {
        for (const policy of [strict, withHttp, withPrivate]) assert.equal(isAllowed(url, policy), false, url)
      }
    })
  }

  it('of a private network is rejected unless private peers are allowed (OUT-09)', () => {
    for (const host of [
      'localhost',
      'LOCALHOST',
      'a.localhost',
      'printer.local',
      'a.b.local',
      'db.internal',
      'localhost.localdomain',
      'nas.lan',
      'router.home.arpa',
      'intranet',
      'postgres',
    ]) {
      assert.equal(isAllowed(`https://${host}/`, strict), false, host)
      assert.equal(isAllowed(`http://${host}/`, withHttp), false, host)
      assert.equal(isAllowed(`https://${host}/`, withPrivate), true, host)
    }
  })

  it('may use http only when http or private peers are allowed (OUT-09)', () => {
    assert.equal(isAllowed('http://peer.example/', strict), false)
    assert.equal(isAllowed('http://peer.example/', withHttp), true)
    assert.equal(isAllowed('http://peer.example/', withPrivate), true)
  })

  it('may have port 443, port 80 or any port from 1024', () => {
    for (const url of [
      'https://peer.example',
      'https://peer.example/a?b=c#d',
      'HTTPS://Peer.Example/',
      'https://peer.example:443/',
      'https://peer.example:80/',
      'https://peer.example:1024/',
      'https://peer.example:65535/',
      'https://xn--bcher-kva.example/',
      'https://a_b.example/',
      'https://8.8.8.8/',
      'https://[2606:4700:4700::1111]:8443/',
      'https://local.example/',
      'https://internal.example/',
    ]) {
      assert.equal(isAllowed(url, strict), true, url)
    }
  })
})

describe('the base address of a peer', () => {
  const base = 'https://peer.example/apps/b1'
  const cases: readonly [inside: boolean, url: string, baseuri: string][] = [
    [true, 'https://peer.example/apps/b1', base],
    [true, 'https://peer.example/apps/b1/', base],
    [true, 'https://peer.example/apps/b1/properties/x?y=z', base],
    [true, 'https://PEER.example:443/apps/b1/properties', base],
    [true, 'https://peer.example/apps/b1/properties', `${base}/`],
    [true, 'https://peer.example/apps/b1/a/../b', base],
    [true, 'https://peer.example/', 'https://peer.example'],
    [true, 'https://peer.example/anything', 'https://peer.example/'],
    [false, 'https://peer.example/apps/b12', base],
    [false, 'https://peer.example/apps/b1-evil/x', base],
    [false, 'https://peer.example/apps/b1.evil', base],
    [false, 'https://peer.example/apps', base],
    [false, 'https://peer.example/', base],
    [false, 'https://peer.example/apps/B1/x', base],
    [false, 'https://peer.example/apps/b1/../b2/x', base],
    [false, 'https://peer.example/apps/b1/%2e%2e/b2/x', base],
    [false, 'https://peer.example/apps/b1/..%2fb2/x', base],
    [false, 'https://peer.example/apps/b1/..%5Cb2/x', base],
    [false, 'https://peer.example/apps/b1/..\\..\\b2/x', base],
    [false, 'https://peer.example//apps/b1/x', base],
    [false, 'http://peer.example/apps/b1/x', base],
    [false, 'https://peer.example:8443/apps/b1/x', base],
    [false, 'https://peer.example.evil.example/apps/b1/x', base],
    [false, 'https://evil.example/apps/b1/x', base],
    [false, 'https://sub.peer.example/apps/b1/x', base],
    [false, 'https://peer.example/apps/b1/x', ''],
    [false, 'https://peer.example/apps/b1/x', 'peer.example/apps/b1'],
  ]
  for (const [inside, url, baseuri] of cases) {
    it(`${inside ? 'covers' : 'does not cover'} ${url} when it is ${JSON.stringify(baseuri)} (OUT-08)`, () => {
      assert.equal(liesBelow(new URL(url), baseuri), inside)
    })
  }
})
