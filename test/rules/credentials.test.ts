import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readCredential } from '../../src/auth/credentials.ts'
import { CookieNames } from '../../src/http/edge/cookies/cookie-names.ts'

const base64 = (text: string, encoding: BufferEncoding = 'utf8'): string =>
  Buffer.from(text, encoding).toString('base64')
const read = (authorization: string | undefined, cookies?: string): ReturnType<typeof readCredential> =>
  readCredential(authorization, cookies, false)

describe('the credential of a request', () => {
  it('is absent without an Authorization header and a session cookie', () => {
    assert.deepEqual(read(undefined), { kind: 'none' })
    assert.deepEqual(read(undefined, ''), { kind: 'none' })
    assert.deepEqual(read(undefined, 'a=b; c=d'), { kind: 'none' })
    assert.deepEqual(read(undefined, 'oauth_token='), { kind: 'none' })
  })

  const basics: [what: string, text: string, user: string, password: string][] = [
    ['a user and a password', 'me:secret', 'me', 'secret'],
    ['colons in the password', 'me:a:b::', 'me', 'a:b::'],
    ['no password', 'me:', 'me', ''],
    ['no user', ':secret', '', 'secret'],
    ['nothing at all', ':', '', ''],
    ['UTF-8', 'zoë:größe 😀', 'zoë', 'größe 😀'],
    ['a byte order mark', '\ufeffme:x', '\ufeffme', 'x'],
    ['NUL', 'me:a\0b', 'me', 'a\0b'],
  ]
  for (const [what, text, user, password] of basics) {
    it(`is Basic with ${what}, split at the first colon (RFC 7617) (WEB-13)`, () => {
      assert.deepEqual(read(`Basic ${base64(text)}`), { kind: 'basic', user, password })
      assert.deepEqual(read(`bAsIc  ${base64(text)}  `), { kind: 'basic', user, password })
    })
  }

  it('is Basic with or without base64 padding (WEB-13)', () => {
    assert.deepEqual(read('Basic YTpi'), { kind: 'basic', user: 'a', password: 'b' })
    assert.deepEqual(read('Basic YTpiYw=='), { kind: 'basic', user: 'a', password: 'bc' })
    assert.deepEqual(read('Basic YTpiYw'), { kind: 'basic', user: 'a', password: 'bc' })
  })

  it('is a bearer token exactly as it was sent', () => {
    assert.deepEqual(read('Bearer a.b-c_~+/='), { kind: 'bearer', token: 'a.b-c_~+/=', via: 'bearer' })
    assert.deepEqual(read('BEARER x'), { kind: 'bearer', token: 'x', via: 'bearer' })
  })

  const malformed: [authorization: string, why: string][] = [
    ['', 'Authorization must be a scheme and a value'],
    [' ', 'Authorization must be a scheme and a value'],
    ['Basic', 'Authorization must be a scheme and a value'],
    ['Basic ', 'Authorization must be a scheme and a value'],
    ['Bearer a b', 'Authorization must be a scheme and a value'],
    ['Basic\tYTpi', 'Authorization must be a scheme and a value'],
    [`Basic ${base64('nocolon')}`, 'the Basic value has no colon'],
    ['Basic a:b', 'the Basic value is not base64'],
    ['Basic YTpi====', 'the Basic value is not base64'],
    ['Basic YT-i_w', 'the Basic value is not base64'],
    [`Basic ${base64('a:\u00ff', 'latin1')}`, 'the Basic value is not UTF-8'],
    ['Digest x', 'the authentication scheme is not supported'],
    ['Token x', 'the authentication scheme is not supported'],
  ]
  for (const [authorization, why] of malformed) {
    it(`is malformed in ${JSON.stringify(authorization)}, and no cookie replaces it (WEB-13, WEB-14)`, () => {
      assert.deepEqual(read(authorization), { kind: 'malformed', why })
      assert.deepEqual(read(authorization, 'oauth_token=good'), { kind: 'malformed', why })
    })
  }

  it('is malformed when the Authorization header is repeated (WEB-13)', () => {
    for (const authorization of ['Basic YTpi', 'Bearer x', undefined])
      assert.deepEqual(readCredential(authorization, 'oauth_token=good', true), {
        kind: 'malformed',
        why: 'Authorization was sent twice',
      })
  })

  it('is the session cookie only when the header is absent (WEB-14)', () => {
    assert.deepEqual(read('Bearer x', 'oauth_token=good'), { kind: 'bearer', token: 'x', via: 'bearer' })
    assert.deepEqual(read(undefined, 'oauth_token=good'), { kind: 'bearer', token: 'good', via: 'cookie' })
  })

  const cookies: [cookies: string, token: string | null][] = [
    ['a=b; oauth_token=t; c=d', 't'],
    ['a=b;oauth_token=t', 't'],
    ['oauth_token=a=b==', 'a=b=='],
    ['oauth_token=first; oauth_token=second', null],
    ['oauth_token=same; a=b; oauth_token=same', null],
    ['oauth_token=first; oauth_token=second; oauth_token=third', null],
    ['oauth_token=; oauth_token=second', 'second'],
    ['oauth_token', null],
    ['xoauth_token=t', null],
    ['OAUTH_TOKEN=t', null],
    ['__Host-oauth_token=t', 't'],
    ['oauth_token=shared; __Host-oauth_token=t', 't'],
    ['__Host-oauth_token=t; oauth_token=shared', 't'],
    ['__Host-oauth_token=; oauth_token=shared', 'shared'],
    ['__Host-oauth_token=t; __Host-oauth_token=u; oauth_token=shared', null],
    ['a=oauth_token=t', null],
    ['a=b; \t oauth_token \t=\t t \t; c=d', 't'],
    [';;;=;', null],
  ]
  for (const [header, token] of cookies) {
    it(`is ${token ?? 'absent'} in the cookies ${header} (WEB-14)`, () => {
      assert.deepEqual(
        read(undefined, header),
        token === null ? { kind: 'none' } : { kind: 'bearer', token, via: 'cookie' },
      )
    })
  }

  // Browsers take such a name for one without `__Host-`, so another host of the domain can set it.
  it('is in no cookie whose name begins or ends with any other byte or white space, and keeps them in values (WEB-26)', () => {
    const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
    const spaces = ['\u1680', '\u2000', '\u2003', '\u200a', '\u2028', '\u2029', '\u202f', '\u205f', '\u3000', '\ufeff']
    const others = [...bytes, ...spaces].filter((each) => !' \t;='.includes(each))
    assert.equal(others.length, 262)
    const names = new CookieNames({ baseUrl: 'https://troupe.test:8443/a', config: { mode: 'production' } })
    const onWire = names.nameOnWire('__Host-browser')
    const renamed = (cookie: string) =>
      names.headerOf({ header: (name) => (name === 'cookie' ? cookie : undefined) }, 'cookie')
    assert.equal(renamed(`a=b;\t ${onWire}=t`), 'a=b; __Host-browser=t')
    for (const other of others) {
      for (const name of ['oauth_token', '__Host-oauth_token']) {
        for (const near of [`${other}${name}`, `${name}${other}`, ` ${other} ${name}`, `${name} ${other}`]) {
          assert.deepEqual(read(undefined, `a=b; ${near}=t`), { kind: 'none' }, JSON.stringify(near))
          assert.deepEqual(read(undefined, `${near}=t`), { kind: 'none' }, JSON.stringify(near))
        }
        assert.deepEqual(read(undefined, `${name}=${other}t${other}`), {
          kind: 'bearer',
          token: `${other}t${other}`,
          via: 'cookie',
        })
      }
      for (const near of [`${other}${onWire}`, `${onWire}${other}`])
        assert.doesNotMatch(renamed(`${near}=t`) ?? '', /^[\t ]*__Host-browser[\t ]*=/, JSON.stringify(near))
    }
  })
})
