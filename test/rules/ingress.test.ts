/** Pages with a success status, which sign-ins, firewalls and captive portals send in the place of the service of a peer. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { judgeDelivery, judgeNotice } from '../../src/outbox/policy.ts'
import { isAccepted } from '../../src/peer/ingress.ts'

const html = '<html><head><title>Sign in</title></head><body><form action="/login"></form></body></html>'
const pages: readonly (readonly [what: string, body: string])[] = [
  ['a page of nginx', `<html>\r\n<head><title>Welcome to nginx!</title></head>\r\n${html}`],
  ['a challenge of Cloudflare', '<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head>'],
  ['the sign-in of Azure', `\r\n\r\n<!-- Copyright (C) Microsoft Corporation. -->\r\n<!DOCTYPE html>${html}`],
  ['the sign-in of Google', `<!doctype html>${html}`],
  ['a form that sends itself', '<form method="POST" action="https://sign-in.example.com/saml"></form>'],
  ['a captive portal', '<HTML><HEAD><META HTTP-EQUIV="Refresh" CONTENT="0; URL=http://portal.example/"></HEAD></HTML>'],
  ['a script that redirects', '<script>location.href="/login"</script>'],
  ['XHTML', `<?xml version="1.0" encoding="UTF-8"?>\n${html}`],
]
const frames: readonly ((body: string) => string)[] = [
  (body) => body,
  (body) => `\u{feff}${body}`,
  (body) => `\n \t${body}`,
]
const types: readonly (string | undefined)[] = [
  'text/html; charset=UTF-8',
  'application/xhtml+xml',
  'text/plain',
  undefined,
]
const attempted = { now: 0, attempts: 0, uncertain: 0, failingSince: null, random: 0.5 }
const policy = { retryUnknown: true, circuitThreshold: 5, circuitCooldownMs: 60_000, giveUpAfterMs: 86_400_000 }

const answer = (status: number, body: string, type: string | undefined) => ({
  kind: 'answered' as const,
  status,
  headers: type === undefined ? {} : { 'content-type': type },
  body,
})

describe('an answer to a message with a success status', () => {
  for (const [what, body] of pages)
    it(`that is ${what} does not accept it, and the message is repeated (SUB-32)`, () => {
      for (const status of [200, 201, 202, 203])
        for (const frame of frames)
          for (const type of types) {
            const outcome = answer(status, frame(body), type)
            assert.equal(isAccepted(outcome), false, `${status} ${type}`)
            for (const judge of [judgeDelivery, judgeNotice])
              assert.equal(judge({ ...attempted, outcome }, policy).kind, 'retry')
          }
    })

  it('that begins with text in an HTML page does not accept it (SUB-32)', () => {
    for (const body of ['Please <a href="/login">sign in</a>', 'Loading…<script src="/a.js"></script>', 'a<!-- b -->'])
      assert.equal(isAccepted(answer(200, body, 'text/html')), false, body)
  })

  for (const [what, body, type] of [
    ['nothing', '', undefined],
    ['nothing as HTML', '', 'text/html'],
    ['an empty object', '{}', 'application/json'],
    ['JSON with markup', '{"note":"<b>x</b>"}', 'text/html'],
    ['a JSON string with markup', '"<b>x</b>"', 'application/json'],
    ['a list', ' [1, 2]', undefined],
    ['true', 'true', 'application/json'],
    ['null', 'null', 'text/html'],
    ['a word', 'OK', 'text/plain'],
    ['a word as HTML', 'OK', 'text/html; charset=utf-8'],
    ['a comparison', '1 < 2', 'text/html'],
  ] as const)
    it(`that is ${what} accepts it (SUB-32)`, () => {
      for (const status of [200, 201, 202, 204]) {
        const outcome = answer(status, body, type)
        assert.equal(isAccepted(outcome), true, String(status))
        assert.equal(judgeDelivery({ ...attempted, outcome }, policy).kind, 'delivered')
      }
    })

  it('needs a success status, and an answer (SUB-32)', () => {
    for (const status of [199, 300, 302, 400, 404, 500]) assert.equal(isAccepted(answer(status, '', undefined)), false)
    assert.equal(isAccepted({ kind: 'unreached', reason: 'refused' }), false)
    assert.equal(isAccepted({ kind: 'unknown', reason: 'cut' }), false)
  })
})
