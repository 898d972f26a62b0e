import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { securityHeaders } from '../../src/http/edge/security-headers.ts'

describe('the security headers of every response', () => {
  it('prevent browsers from running, framing, sniffing, caching or referring to data (WEB-02)', () => {
    assert.deepEqual(securityHeaders('http://troupe.test').forData, {
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-store',
      'X-Frame-Options': 'DENY',
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    })
  })

  it('allow a page to load only its own files and to send only its own forms (WEB-02)', () => {
    const { 'Content-Security-Policy': policy, ...others } = securityHeaders('http://troupe.test').forPages
    assert.deepEqual(others, {
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-store',
      'X-Frame-Options': 'DENY',
      'Cross-Origin-Opener-Policy': 'same-origin',
    })
    assert.deepEqual(policy?.split('; ').sort(), [
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "img-src 'self' data:",
      "object-src 'none'",
      'script-src http://troupe.test/assets/',
      'style-src http://troupe.test/assets/',
    ])
  })

  it('name the folder of assets below the prefix of the service, and the service itself at an IPv6 address (WEB-20)', () => {
    const scriptsOf = (baseUrl: string): string | undefined =>
      securityHeaders(baseUrl)
        .forPages['Content-Security-Policy']?.split('; ')
        .find((rule) => rule.startsWith('script-src'))
    assert.equal(scriptsOf('https://example.com/notes'), 'script-src https://example.com/notes/assets/')
    assert.equal(scriptsOf('http://localhost:3000'), 'script-src http://localhost:3000/assets/')
    assert.equal(scriptsOf('http://[::1]:3000'), "script-src 'self'")
  })

  it('require https exactly when the service is reached by https (WEB-02)', () => {
    for (const kind of ['forData', 'forPages'] as const) {
      assert.equal(securityHeaders('https://troupe.test/aw')[kind]['Strict-Transport-Security'], 'max-age=31536000')
      assert.equal('Strict-Transport-Security' in securityHeaders('http://troupe.test')[kind], false)
    }
  })
})
