import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  isLoopback,
  matchesRedirect,
  parseRedirectUri,
  shownTarget,
  withParameters,
} from '../../src/authorization-server/redirect-uri.ts'

describe('an address that a client registers to be sent back to', () => {
  it('may be by https, at a loopback address, or of an application’s own scheme', () => {
    for (const uri of [
      'https://program.example/back',
      'https://program.example/back?tenant=1',
      'https://program.example:8443/',
      'https://program.example',
      'http://127.0.0.1/cb',
      'http://127.0.0.1:3333/cb',
      'http://[::1]:3333/cb',
      'http://localhost:3333/cb',
      'com.example.app:/back',
      'com.example.app://back/to',
      'cursor://anysphere.cursor-retrieval/oauth/callback',
      'https://xn--bcher-kva.example/back',
    ]) {
      assert.notEqual(parseRedirectUri(uri), null, uri)
    }
  })

  it('OAZ-04 has 2048 characters at most', () => {
    assert.notEqual(parseRedirectUri('https://program.example/'.padEnd(2048, 'x')), null)
    assert.equal(parseRedirectUri('https://program.example/'.padEnd(2049, 'x')), null)
  })

  it('OAZ-04 has no scheme that runs, shows or opens what the address says, in any letter case', () => {
    for (const scheme of [
      'javascript',
      'data',
      'vbscript',
      'file',
      'blob',
      'about',
      'filesystem',
      'view-source',
      'ws',
      'wss',
      'ftp',
      'mailto',
      'tel',
      'sms',
      'intent',
      'jar',
      'res',
      'shell',
      'search',
      'search-ms',
      'ms-msdt',
      'ms-officecmd',
      'urn',
      'chrome',
      'resource',
    ]) {
      for (const spelled of [scheme, scheme.toUpperCase(), `${scheme[0]?.toUpperCase()}${scheme.slice(1)}`]) {
        for (const rest of [':alert(1)', '://program.example/back', ':/back', ':text/html,<b>'])
          assert.equal(parseRedirectUri(`${spelled}${rest}`), null, `${spelled}${rest}`)
      }
    }
    for (const uri of [
      'java\tscript:alert(1)',
      'java\nscript:alert(1)',
      '\u0001javascript:alert(1)',
      ' javascript:alert(1)',
    ])
      assert.equal(parseRedirectUri(uri), null, JSON.stringify(uri))
  })

  it('ODR-03 is absolute, without fragment, wildcard and person, and by plain http only on this machine', () => {
    for (const uri of [
      '',
      '/back',
      'back',
      '//program.example/back',
      'program.example/back',
      'https://program.example/back#',
      'https://program.example/back#part',
      'https://*.example/back',
      'https://program.example/*',
      'http://program.example/back',
      'http://10.0.0.1/back',
      'http://0.0.0.0/back',
      'http://127.0.0.2/back',
      'http://localhost.example/back',
      'http://127.0.0.1.example/back',
      'https://',
      'https:///back',
      'https:program.example/back',
      'https:/program.example/back',
      'app:',
      `https://program.example/${'a'.repeat(2048)}`,
    ]) {
      assert.equal(parseRedirectUri(uri), null, uri)
    }
  })

  it('ODR-03 OAZ-03 is read as it is written: odd spellings of a host are refused', () => {
    for (const uri of [
      'http://127.1/cb',
      'http://127.0.1/cb',
      'http://0x7f.1/cb',
      'http://0177.0.0.1/cb',
      'http://2130706433/cb',
      'http://127.0.0.1./cb',
      'http://LOCALHOST%2e/cb',
      'http://[0:0:0:0:0:0:0:1]/cb',
      'http://[::ffff:127.0.0.1]/cb',
      'https://program%2eexample/back',
      'https://bücher.example/back',
      'https://１２７.0.0.1/cb',
      'https://good.example@evil.example/cb',
      'https://good.example:pass@evil.example/cb',
      'https://@evil.example/cb',
      'https://good.example\\@evil.example/cb',
      'https:\\\\program.example\\back',
      'https://program.example\\.evil.example/cb',
      ' https://program.example/back',
      'https://program.example/back ',
      'https://program.example/\tback',
      'https://program.example/ba\rck',
      'https://program.example/ba\nck',
      'https://program.example/ba\0ck',
      'https://program.example/../back',
      'https://program.example/a/../back',
      'https://program.example/%2e%2e/back',
      'https://program.example/a/%2E%2e/back',
      'https://program.example/a/./back',
    ]) {
      assert.equal(parseRedirectUri(uri), null, JSON.stringify(uri))
    }
  })
})

describe('an address that an authorization request names', () => {
  const registered = 'https://program.example/back'

  it('OAZ-02 is the registered one, byte for byte', () => {
    assert.equal(matchesRedirect(registered, registered), true)
    for (const asked of [
      '',
      'https://program.example/other',
      'https://program.example/back/',
      'https://program.example/back?',
      'https://program.example/back?x=1',
      'https://program.example/Back',
      'https://program.example/BACK',
      'HTTPS://program.example/back',
      'https://PROGRAM.example/back',
      'https://program.example/back#x',
      'https://program.example/back#',
      'https://program.example:443/back',
      'https://program.example:444/back',
      'https://program.example/x/../back',
      'https://program.example/x/%2e%2e/back',
      'https://program.example/%62ack',
      'https://program.example//back',
      'https://program.example.evil.example/back',
      'https://evil.example/back',
      'https://*/back',
      'http://program.example/back',
    ]) {
      assert.equal(matchesRedirect(registered, asked), false, asked)
    }
  })

  it('OAZ-04 is refused again where it could never have been registered', () => {
    for (const uri of ['javascript:alert(1)', 'data:text/html,x', 'http://program.example/back'])
      assert.equal(matchesRedirect(uri, uri), false, uri)
  })

  it('OAZ-05 may have another port at a loopback address, and nothing else may differ', () => {
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      for (const port of ['', ':1', ':8080', ':65535']) {
        assert.equal(matchesRedirect(`http://${host}:3333/cb?a=1`, `http://${host}${port}/cb?a=1`), true, host + port)
        assert.equal(matchesRedirect(`http://${host}/cb`, `http://${host}${port}/cb`), true, host + port)
      }
      for (const asked of [
        `http://${host}:3333/other`,
        `http://${host}:3333/cb/`,
        `http://${host}:3333/CB`,
        `http://${host}:3333/cb?x=1`,
        `http://${host}:3333/cb#x`,
        `https://${host}:3333/cb`,
        `http://${host}:99999/cb`,
        `http://${host}:x/cb`,
        `http://${host}:/cb`,
        `http://me@${host}:3333/cb`,
      ]) {
        assert.equal(matchesRedirect(`http://${host}:3333/cb`, asked), false, asked)
      }
      for (const other of ['127.0.0.1', '[::1]', 'localhost', '127.0.0.2', '127.1', 'localhost.', 'program.example'])
        if (other !== host)
          assert.equal(matchesRedirect(`http://${host}:1/cb`, `http://${other}:1/cb`), false, `${host} ${other}`)
    }
    assert.equal(matchesRedirect('https://localhost:1/cb', 'https://localhost:2/cb'), false)
    assert.equal(matchesRedirect('https://program.example:1/cb', 'https://program.example:2/cb'), false)
  })
})

describe('the way back', () => {
  it('OAZ-17 gets the parameters of the response after those of its own, of which not a byte changes', () => {
    const added = { code: 'a b', state: 'é&=#', iss: 'https://troupe.test' }
    const encoded = 'code=a+b&state=%C3%A9%26%3D%23&iss=https%3A%2F%2Ftroupe.test'
    for (const [registered, answered] of [
      ['https://program.example/back', `https://program.example/back?${encoded}`],
      ['https://program.example', `https://program.example?${encoded}`],
      ['https://program.example/back?', `https://program.example/back?${encoded}`],
      ['https://program.example/back?x=%2f&y', `https://program.example/back?x=%2f&y&${encoded}`],
      ['https://program.example/back?x=1&', `https://program.example/back?x=1&${encoded}`],
      [
        'https://program.example/back?iss=me&code=1&state=2',
        `https://program.example/back?iss=me&code=1&state=2&${encoded}`,
      ],
      ['com.example.app:/back', `com.example.app:/back?${encoded}`],
    ] as const) {
      assert.equal(withParameters(registered, added), answered)
    }
  })

  it('OAZ-11 is shown as people know it', () => {
    for (const [uri, shown, local] of [
      ['https://program.example/back?x=1', 'program.example', false],
      ['https://program.example:8443/', 'program.example:8443', false],
      ['http://127.0.0.1:3333/cb', '127.0.0.1:3333', true],
      ['http://[::1]:3333/cb', '[::1]:3333', true],
      ['com.example.app:/back', 'com.example.app://', false],
      // Whatever stands behind the scheme of an application, no host answers there.
      ['someapp://accounts.google.com/back', 'someapp://', false],
      ['https://localhost/cb', 'localhost', false],
    ] as const) {
      assert.deepEqual([shownTarget(uri), isLoopback(uri)], [shown, local], uri)
    }
  })
})
