/** `troupe mail test`, and the mail server in `troupe doctor`. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { place, placeForEachTest } from '../support/cli.ts'
import { freePort } from '../support/free-port.ts'
import { type MailServer, onlyMail, startMailServer } from '../support/mail-server.ts'

placeForEachTest()

const servers: MailServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

/** A server that accepts one user, whose password needs percent-encoding. */
async function serverWithLogin(): Promise<MailServer & { readonly login: string }> {
  const server = await startMailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      password === 'p@ss' ? done(null, { user: username ?? '' }) : done(new Error('Wrong user or password')),
  })
  servers.push(server)
  return Object.assign(server, { login: `smtp://ada:p%40ss@127.0.0.1:${server.port}` })
}

const settings = { TROUPE_MAIL_FROM: 'Notes <notes@example.com>', BASE_URL: 'https://notes.example.com' }

describe('troupe mail test', () => {
  it('sends one message, and prints the answer of the server', async () => {
    const server = await serverWithLogin()
    const env = { ...settings, TROUPE_SMTP_URL: server.login }
    const { code, stdout, stderr } = await place.run(['mail', 'test', 'Grace@example.com'], { env })
    assert.deepEqual(
      [code, stdout, stderr],
      [0, 'The server accepted the message for grace@example.com: 250 queued as 1\n', ''],
    )
    const { to, parsed } = onlyMail(server)
    assert.deepEqual(to, ['grace@example.com'])
    assert.equal(parsed.subject, 'Test message of notes.example.com')
    assert.match(parsed.messageId ?? '', /^<[0-9a-f]{32}@notes\.example\.com>$/)
  })

  it('prints the refusal of the server, and never the password', async () => {
    const server = await serverWithLogin()
    server.refusals.recipient.push({ code: 550, text: 'No mailbox of that name' })
    const env = { ...settings, TROUPE_SMTP_URL: server.login }
    const refused = await place.run(['mail', 'test', 'grace@example.com'], { env })
    assert.equal(refused.code, 1)
    assert.match(refused.stdout, /^The message for grace@example\.com was not sent: .*No mailbox of that name/)
    const wrong = await place.run(['mail', 'test', 'grace@example.com'], {
      env: { ...env, TROUPE_SMTP_URL: server.login.replace('p%40ss', 'hidden') },
    })
    assert.equal(wrong.code, 1)
    assert.match(wrong.stdout, /Wrong user or password/)
    assert.equal(/hidden|aGlkZGVu/.test(wrong.stdout + wrong.stderr), false)
    assert.equal(server.received.length, 0)
  })

  it('needs an address and the settings', async () => {
    for (const args of [[], ['test'], ['test', 'grace'], ['send', 'grace@example.com'], ['test', 'a@b.example', 'x']]) {
      const { code, stderr } = await place.run(['mail', ...args])
      assert.deepEqual(
        [code, stderr],
        [1, 'Cannot run troupe mail: expected an address, as in troupe mail test you@example.com\n'],
      )
    }
    const { code, stderr } = await place.run(['mail', 'test', 'grace@example.com'])
    assert.deepEqual([code, stderr], [1, 'Cannot send mail: set TROUPE_SMTP_URL and TROUPE_MAIL_FROM.\n'])
  })
})

describe('troupe doctor with a mail server', () => {
  const env = { ...settings, TROUPE_MODE: 'development' }

  it('connects and signs in, and sends nothing', async () => {
    const server = await serverWithLogin()
    const { code, stdout } = await place.run(['doctor'], { env: { ...env, TROUPE_SMTP_URL: server.login } })
    assert.equal(code, 0)
    assert.match(stdout, new RegExp(`^mail {6}127\\.0\\.0\\.1:${server.port}: answers$`, 'm'))
    assert.deepEqual([server.received.length, server.connections()], [0, 1])
  })

  it('names a wrong password, and a server that does not answer', async () => {
    const server = await serverWithLogin()
    const wrong = { ...env, TROUPE_SMTP_URL: server.login.replace('p%40ss', 'hidden') }
    assert.match((await place.run(['doctor'], { env: wrong })).stdout, /^mail .*Wrong user or password$/m)
    const none = { ...env, TROUPE_SMTP_URL: `smtp://127.0.0.1:${await freePort()}` }
    assert.match((await place.run(['doctor'], { env: none })).stdout, /^mail .*ECONNREFUSED/m)
  })
})
