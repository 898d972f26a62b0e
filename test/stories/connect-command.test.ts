/** `troupe connect`: a command line gets tokens for the actor of a person. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, beforeEach, describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { consentIn, mcpStatus } from '../support/oauth-client.ts'
import { signUpWith } from '../support/passkey-page.ts'
import { type Ending, type Program, Workplace } from '../support/program.ts'
import { sqliteService } from '../support/service.ts'
import { actorIn } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'
import { until } from '../support/until.ts'

const start = sqliteService()

/** Answers every request in the same way. */
async function answering(status: number, body: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('troupe connect', () => {
  let place: Workplace
  beforeEach(() => {
    place = new Workplace()
  })
  afterEach(() => place.remove())

  /** Starts the command, and waits for the code that it shows. */
  async function shown(url: string): Promise<{ program: Program; code: string; text: () => string }> {
    let text = ''
    const program = place.start(['connect', url])
    program.process.stderr?.on('data', (part: string) => {
      text += part
    })
    await until(() => text.includes('Waiting…'))
    const [, code = ''] = /enter the code (\S+)/.exec(text) ?? []
    return { program, code, text: () => text }
  }

  it('shows a code and a QR code, and prints the tokens after the person agreed', async () => {
    const service = await start({ listen: true, host: 'localhost', signIn: [passkey()] })
    const { browser, answer } = await signUpWith(service, new SoftPasskey(), 'Ada')
    const { program, code, text } = await shown(service.url)
    assert.match(text(), new RegExp(`Open ${service.url}/oauth/device and enter the code ${code}\n`))
    assert.match(text(), /[▀▄█]{10}/)
    const consent = consentIn(await (await browser.post('/oauth/device', { user_code: code })).text())
    await browser.post('/oauth/authorize', { consent, trust_type: 'mcp_client', decision: 'allow' })
    const ending = await program.ended
    assert.equal(ending.code, 0)
    const tokens = JSON.parse(ending.stdout) as Record<string, string>
    assert.equal(tokens['actor_id'], actorIn(answer))
    assert.equal(tokens['service'], service.url)
    assert.equal(await mcpStatus(service, tokens['access_token'] ?? ''), 200)
  })

  it('ends with the reason when the person denied it', async () => {
    const service = await start({ listen: true, host: 'localhost', signIn: [passkey()] })
    const { browser } = await signUpWith(service, new SoftPasskey(), 'Ada')
    const { program, code } = await shown(service.url)
    const consent = consentIn(await (await browser.post('/oauth/device', { user_code: code })).text())
    await browser.post('/oauth/authorize', { consent, trust_type: 'mcp_client', decision: 'deny' })
    const ending = await program.ended
    assert.equal(ending.code, 1)
    assert.match(ending.stderr, /Cannot connect: The owner did not authorize the client\.\n$/)
    assert.equal(ending.stdout, '')
  })

  it('refuses other addresses with one sentence', async () => {
    const page = await answering(200, '<!doctype html>')
    const other = await answering(200, '{"issuer":"x"}')
    for (const [args, sentence] of [
      [[], 'Cannot connect: expected the URL of a service, as in troupe connect https://notes.example.com\n'],
      [['notes'], 'Cannot connect: expected the URL of a service, as in troupe connect https://notes.example.com\n'],
      [
        ['http://127.0.0.1:1'],
        'Cannot connect: http://127.0.0.1:1/.well-known/oauth-authorization-server cannot be reached.\n',
      ],
      [[page], `Cannot connect: ${page}/.well-known/oauth-authorization-server is not a service of Troupe.\n`],
      [[other], `Cannot connect: ${other} offers no connection of devices.\n`],
    ] as const) {
      const ending: Ending = await place.run(['connect', ...args])
      assert.deepEqual([ending.code, ending.stderr], [1, sentence])
    }
  })
})
