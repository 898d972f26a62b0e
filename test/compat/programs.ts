/** Rows that need a program of the machine. `npm run compat` says which it did not find. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../support/until.ts'
import { codeOf } from './owner.ts'
import { hasLibrary, libraryProgram } from './python-library.ts'
import type { CompatRow, World } from './row.ts'
import { type DrivenBrowser, startFirefox, startWebKit } from './web-drivers.ts'

/** Whether the machine has the program. */
export function isPresent(program: string): boolean {
  if (program === libraryProgram) return hasLibrary()
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
}

const run = promisify(execFile)

async function curl(world: World): Promise<void> {
  const actor = await world.service.createActor()
  const place = `${world.service.url}/${actor.id}/properties/color`
  const user = ['--silent', '--fail', '--user', `${actor.creator}:${actor.passphrase}`]
  await run('curl', [...user, '--request', 'PUT', '--json', '"blue"', place])
  assert.equal((await run('curl', [...user, place])).stdout, 'blue')
}

const clickOn = (text: string): string =>
  `[...document.querySelectorAll('a, button')].find((one) => one.textContent.trim() === '${text}').click()`

/** Signs in by the local provider, sees a change of a property without a reload, and stays signed in after one. */
function signsInWith(startBrowser: () => Promise<DrivenBrowser>): CompatRow['run'] {
  return async (world) => {
    const service = await world.start({ signIn: undefined, localSignIn: true, uniqueCreator: true })
    const browser = await startBrowser()
    const shows = async (expression: string): Promise<void> => {
      // Between two pages there is nothing to ask.
      await until(async () =>
        browser.evaluate(expression).then(
          (value) => value === true,
          () => false,
        ),
      )
    }
    try {
      await browser.open(service.url)
      await browser.evaluate(clickOn('Continue as a test user'))
      await shows("document.title.startsWith('Choose a test user') && document.readyState === 'complete'")
      await browser.evaluate(clickOn('Sign in as Ada Lovelace'))
      await shows("location.pathname.endsWith('/www') && document.readyState === 'complete'")
      const ada = await service.app.actors.findByCreator('ada@example.com')
      await browser.open(`${service.url}/${ada?.id}/www/properties`)
      await ada?.set('color', 'ultramarine')
      await shows("location.pathname.endsWith('/properties') && document.body.innerText.includes('ultramarine')")
      await browser.open(`${service.url}/${ada?.id}/www`)
      await shows("location.pathname.endsWith('/www') && document.readyState === 'complete'")
    } finally {
      await browser.close()
      await service.close()
    }
  }
}

/**
 * Connects by the command line, which registers, waits for the consent and keeps the tokens; then lists and calls. With its 355
 * packages of 542 MB, mcp-use 1.34.6 is too large a dependency for tests: `npm install --global --legacy-peer-deps mcp-use@1.34.6`.
 */
async function mcpUse(world: World): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'troupe-mcp-use-'))
  const options = { env: { ...process.env, HOME: home, MCP_USE_ANONYMIZED_TELEMETRY: 'false' } }
  const use = async (...args: readonly string[]): Promise<string> =>
    (await run('mcp-use', ['client', ...args, '--json'], options)).stdout
  try {
    const connecting = run('mcp-use', ['client', 'connect', 'notes', `${world.service.url}/mcp`], options)
    const url = await addressIn(connecting.child)
    await fetch(await codeOf(await world.browser(), url.slice(world.service.url.length)))
    await connecting
    assert.match(await use('notes', 'tools', 'list'), /"name":\s*"add_note"/)
    assert.match(await use('notes', 'tools', 'call', 'add_note', 'text=hello'), /"index":\s*0/)
  } finally {
    rmSync(home, { recursive: true })
  }
}

/** The address of the consent page, which a program prints. */
async function addressIn({ stdout, stderr }: ChildProcess): Promise<string> {
  let text = ''
  for (const stream of [stdout, stderr]) stream?.on('data', (piece) => void (text += String(piece)))
  let found: string | undefined
  await until(() => (found = /https?:\/\/\S+\/oauth\/authorize\?\S+/.exec(text)?.[0]) !== undefined)
  return found ?? ''
}

const enter = [
  'local sign-in over plain http, live page',
  'stays signed in, and shows a change without a reload',
] as const
const firefox = ['firefox', 'firefox-esr'].find(isPresent) ?? 'firefox'

function row(
  group: CompatRow['group'],
  [client, program, source]: readonly [client: string, program: string, source: string],
  [flow, expected]: readonly [flow: string, expected: string],
  check: CompatRow['run'],
): CompatRow {
  return { group, client, version: 'of the machine', flow, expected, source, program, run: check }
}

export const programRows: readonly CompatRow[] = [
  row(
    'Command line',
    ['curl', 'curl', 'https://curl.se/docs/manpage.html'],
    ['GET and PUT with Basic', 'reads what it wrote'],
    curl,
  ),
  row(
    'AI clients from packages',
    ['mcp-use', 'mcp-use', 'https://www.npmjs.com/package/mcp-use'],
    ['command line: discovery, registration, consent, list, call', 'sees the tool and its result'],
    mcpUse,
  ),
  row(
    'Browsers',
    ['WebKitGTK (the engine of Safari)', 'WebKitWebDriver', 'https://webkitgtk.org'],
    enter,
    signsInWith(startWebKit),
  ),
  row(
    'Browsers',
    ['Firefox', firefox, 'https://developer.mozilla.org/docs/Web/WebDriver'],
    enter,
    signsInWith(async () => startFirefox(firefox)),
  ),
]
