import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readRegistration } from '../../src/authorization-server/registration.ts'

const offered = ['mcp_client']

/** A registration that takes `length` characters in the store. */
function ofLength(length: number): Parameters<typeof readRegistration>[0] {
  const uris = ['https://program.example/1', 'https://program.example/2', 'https://program.example/3']
  const withFill = (fill: number) => ({
    client_name: 'A program',
    redirect_uris: [...uris, ...Array.from({ length: 4 }, (_, n) => `https://program.example/${n}${'x'.repeat(1500)}`)],
    client_uri: `https://program.example/${'x'.repeat(fill)}`,
  })
  const shortest = JSON.stringify(readRegistration(withFill(0), offered)).length
  return withFill(length - shortest)
}

describe('the registration of a client', () => {
  it('is stored up to 8192 characters (ODR-06)', () => {
    assert.equal(JSON.stringify(readRegistration(ofLength(8192), offered)).length, 8192)
    assert.throws(() => readRegistration(ofLength(8193), offered), {
      code: 'invalid_client_metadata',
      message: 'The registration is too long: the maximum is 8192 characters',
    })
  })

  it('contains 1 to 20 redirect URIs (ODR-03)', () => {
    const named = (count: number) => ({
      client_name: 'A program',
      redirect_uris: Array.from({ length: count }, (_, n) => `https://program.example/${n}`),
    })
    assert.equal(readRegistration(named(20), offered).redirectUris.length, 20)
    for (const count of [0, 21])
      assert.throws(() => readRegistration(named(count), offered), { code: 'invalid_redirect_uri' })
  })

  it('contains supported grants in a list of strings (R-AS-01)', () => {
    const grants = (given: Parameters<typeof readRegistration>[0]) =>
      readRegistration(
        { client_name: 'A program', redirect_uris: ['https://program.example/back'], grant_types: given },
        offered,
      ).grantTypes
    assert.deepEqual(grants(null), ['authorization_code', 'refresh_token'])
    assert.deepEqual(grants(['refresh_token', 'other', 'authorization_code']), ['authorization_code', 'refresh_token'])
    for (const given of [['authorization_code', 1], [1], 'authorization_code', {}, []])
      assert.throws(() => grants(given), { code: 'invalid_client_metadata' }, JSON.stringify(given))
    assert.throws(() => grants(['password']), { code: 'invalid_client_metadata' })
  })

  it('contains URLs of at most 2048 characters (ODR-04)', () => {
    const about = (length: number) => ({
      client_name: 'A program',
      redirect_uris: ['https://program.example/back'],
      client_uri: 'https://program.example/'.padEnd(length, 'x'),
    })
    assert.equal(readRegistration(about(2048), offered).metadata.client_uri?.length, 2048)
    assert.throws(() => readRegistration(about(2049), offered), { code: 'invalid_client_metadata' })
  })
})
