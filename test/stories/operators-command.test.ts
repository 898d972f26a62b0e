/** `troupe operators`, and the link that a start in production prints. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { free, key, place, placeForEachTest, start } from '../support/cli.ts'

placeForEachTest()

const production = {
  TROUPE_SECRET_KEYS: key,
  BASE_URL: 'https://troupe.example.com',
  TROUPE_PROVIDERS: 'passkey',
}

describe('troupe operators', () => {
  it('lists, adds and removes; a start prints the link as text before the first one, and the last one stays', async () => {
    const run = (...args: string[]) => place.run(['operators', ...args], { env: free })
    const first = await start(['serve', 'app.ts'], production)
    first.program.signal('SIGTERM')
    const { stdout, stderr } = await first.program.ended
    const [line = ''] = stderr.split('\n').filter((one) => one.includes('code='))
    assert.match(line, /^ {2}https:\/\/troupe\.example\.com\/admin\/first\?code=[\w-]{43}$/)
    assert.ok(!stdout.includes('code='))
    assert.match(stderr, /It works once, within 24 hours, and the next start of the service replaces it\./)
    assert.deepEqual(await run('ls'), {
      code: 0,
      signal: null,
      stdout: 'No operators: the next start of troupe serve in production prints a link for the first one.\n',
      stderr: '',
    })
    assert.match((await run('add', 'Ada@Example.com')).stdout, /^ada@example\.com {2}added \S+Z by command\n$/)
    const again = await run('add', 'ada@example.com')
    assert.deepEqual([again.code, again.stderr], [1, 'Cannot add ada@example.com: it is an operator already.\n'])
    const last = await run('remove', 'ada@example.com')
    assert.deepEqual(
      [last.code, last.stderr],
      [1, 'Cannot remove ada@example.com: it is the last operator. Add another one first.\n'],
    )
    await run('add', 'google:1234')
    const { stored } = JSON.parse((await run('remove', 'ada@example.com', '--json')).stdout) as {
      stored: { name: string }[]
    }
    assert.deepEqual(
      stored.map(({ name }) => name),
      ['google:1234'],
    )
    const unknown = await run('remove', 'ada@example.com')
    assert.deepEqual(
      [unknown.code, unknown.stderr],
      [1, 'Cannot remove ada@example.com: it is not a stored operator.\n'],
    )
    const configured = await place.run(['operators', 'remove', 'Grace@Example.com'], {
      env: { ...free, TROUPE_ADMINS: 'grace@example.com' },
    })
    assert.deepEqual(
      [configured.code, configured.stderr],
      [
        1,
        'Cannot remove grace@example.com: TROUPE_ADMINS names this operator. Remove the name there, and restart the service.\n',
      ],
    )
    const second = await start(['serve', 'app.ts'], production)
    second.program.signal('SIGTERM')
    assert.ok(!(await second.program.ended).stderr.includes('code='))
  })

  for (const [args, sentence] of [
    [[], 'Cannot run troupe operators: expected ls, add <name> or remove <name>.'],
    [['ls', 'x'], 'Cannot run troupe operators: expected ls, add <name> or remove <name>.'],
    [['add'], 'Cannot run troupe operators: expected ls, add <name> or remove <name>.'],
    [['add', 'a', 'b'], 'Cannot run troupe operators: expected ls, add <name> or remove <name>.'],
    [
      ['add', 'a..b@example.com'],
      'Cannot add the operator "a..b@example.com": expected a verified address, a provider id such as google:1234, or the fingerprint of a passkey.',
    ],
    [
      ['add', 'passkey:7f3a'],
      'Cannot add the operator "passkey:7f3a": expected a verified address, a provider id such as google:1234, or the fingerprint of a passkey.',
    ],
    [['ls', '--all'], 'Unknown option --all of troupe operators: troupe operators --help lists the options.'],
  ] as const) {
    it(`refuses ${args.join(' ') || 'no arguments'}`, async () => {
      const { code, stdout, stderr } = await place.run(['operators', ...args], { env: free })
      assert.deepEqual([code, stdout, stderr], [1, '', `${sentence}\n`])
    })
  }
})
