import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  isLoopback,
  matchesRedirect,
  parseRedirectUri,
  shownTarget,
  withParameters,
} from '../../src/authorization-server/redirect-uri.ts'

describe('a redirect URI at registration', () => {
  it('may use https, http at a loopback address, or a private-use scheme', () => {
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
      // Compared exactly, so they mean nothing but themselves.
      'https://program.example/@user/back',
      'https://program.example/*',
      // The form that AppAuth and Expo produce.
      'com.example.app:///back',
    ]) {
      assert.notEqual(parseRedirectUri(uri), null, uri)
    }
  })

  it('has at most 2048 characters (OAZ-04)', () => {
    assert.notEqual(parseRedirectUri('https://program.example/'.padEnd(2048, 'x')), null)
    assert.equal(parseRedirectUri('https://program.example/'.padEnd(2049, 'x')), null)
  })

  it('cannot have a scheme that runs, shows or opens its content, in any letter case (OAZ-04)', () => {
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

  it('is absolute, without fragment, wildcard and user information, and uses plain http only at a loopback address (ODR-03)', () => {
    for (const uri of [
      '',
      '/back',
      'back',
      '//program.example/back',
      'program.example/back',
      'https://program.example/back#',
      'https://program.example/back#part',
      'https://*.example/back',
      'https://program.*/back',
      'com.example.app:/*',
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

  it('is not normalized: unusual spellings of a host are rejected (ODR-03, OAZ-03)', () => {
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

describe('a redirect URI in an authorization request', () => {
  const registered = 'https://program.example/back'

  it('equals the registered one byte for byte (OAZ-02)', () => {
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

  it('is rejected again when it can no longer be registered (OAZ-04)', () => {
    for (const uri of ['javascript:alert(1)', 'data:text/html,x', 'http://program.example/back'])
      assert.equal(matchesRedirect(uri, uri), false, uri)
  })

  it('may have another port at a loopback address, without any other difference (OAZ-05)', () => {
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

describe('the redirect URI of a response', () => {
  it('has the parameters of the response after its own unchanged parameters (OAZ-17)', () => {
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

  it('is shown as a host, or as the scheme of an application (OAZ-11)', () => {
    for (const [uri, shown, local] of [
      ['https://program.example/back?x=1', 'program.example', false],
      ['https://program.example:8443/', 'program.example:8443', false],
      ['http://127.0.0.1:3333/cb', '127.0.0.1:3333', true],
      ['http://[::1]:3333/cb', '[::1]:3333', true],
      ['com.example.app:/back', 'com.example.app://', false],
      // A private-use scheme has no host, whatever follows it.
      ['someapp://accounts.google.com/back', 'someapp://', false],
      ['https://localhost/cb', 'localhost', false],
    ] as const) {
      assert.deepEqual([shownTarget(uri), isLoopback(uri)], [shown, local], uri)
    }
  })
})
