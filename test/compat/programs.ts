/** Rows that need a program of the machine. `npm run compat` says which it did not find. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../support/free-port.ts'
import { basic } from '../support/service.ts'
import { until } from '../support/until.ts'
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

/** Starts the proxy with the configuration that the function returns, and uses the service through it. */
function behind(
  program: string,
  file: string,
  args: (path: string) => readonly string[],
  configuration: (port: number, target: string, folder: string) => string,
): CompatRow['run'] {
  return async (world) => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-proxy-'))
    const port = await freePort()
    const path = join(folder, file)
    writeFileSync(path, configuration(port, new URL(world.service.url).host, folder))
    const proxy = spawn(program, args(path), { stdio: 'ignore' })
    try {
      await useThrough(world, `http://127.0.0.1:${port}`, proxy)
    } finally {
      proxy.kill()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

async function useThrough({ service }: World, proxied: string, proxy: ChildProcess): Promise<void> {
  const actor = await service.createActor()
  const headers = { authorization: basic(actor.creator, actor.passphrase), 'content-type': 'application/json' }
  const place = `${proxied}/${actor.id}/properties/text`
  await until(async () => {
    assert.equal(proxy.exitCode, null, 'the proxy ended')
    return fetch(proxied).then(
      () => true,
      () => false,
    )
  })
  const long = JSON.stringify('a long text '.repeat(1000))
  assert.equal((await fetch(place, { method: 'PUT', headers, body: long })).status, 204)
  // The proxy compresses the answer, and some make the tag weak.
  const read = await fetch(place, { headers: { ...headers, 'accept-encoding': 'gzip' } })
  assert.equal(`"${await read.text()}"`, long)
  const changed = await fetch(place, {
    method: 'PUT',
    headers: { ...headers, 'if-match': (read.headers.get('etag') ?? '').replace(/^W\//, '') },
    body: '"short"',
  })
  assert.equal(changed.status, 204)
  const ending = new AbortController()
  const stream = await fetch(`${proxied}/${actor.id}/live`, {
    headers: { ...headers, accept: 'text/event-stream' },
    signal: ending.signal,
  })
  assert.equal(stream.status, 200)
  ending.abort()
}

/** Workers of nginx that root starts run as another user, who may not write in the folder. */
const workers = process.getuid?.() === 0 ? 'user root;\n' : ''

const nginx = (port: number, target: string, folder: string): string => `${workers}daemon off;
pid ${folder}/pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  gzip on;
  gzip_types *;
  gzip_proxied any;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://${target};
      proxy_set_header Host ${target};
    }
  }
}
`

const caddy = (port: number, target: string): string => `{
  admin off
  auto_https off
}
http://127.0.0.1:${port} {
  encode gzip
  reverse_proxy ${target} {
    header_up Host ${target}
  }
}
`

const haproxy = (port: number, target: string): string => `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend in
  bind 127.0.0.1:${port}
  default_backend out
backend out
  compression algo gzip
  server one ${target}
`

const change = [
  'GET, PUT with the tag of the compressed answer, event stream',
  'reads, changes, and receives the head of the stream at once',
] as const
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
  row(
    'Proxies',
    ['nginx', 'nginx', 'https://nginx.org/en/docs/http/ngx_http_gzip_module.html'],
    change,
    behind('nginx', 'nginx.conf', (path) => ['-c', path], nginx),
  ),
  row(
    'Proxies',
    ['Caddy', 'caddy', 'https://caddyserver.com/docs/caddyfile/directives/reverse_proxy'],
    change,
    behind('caddy', 'Caddyfile', (path) => ['run', '--config', path, '--adapter', 'caddyfile'], caddy),
  ),
  row(
    'Proxies',
    ['HAProxy', 'haproxy', 'https://docs.haproxy.org/3.2/configuration.html'],
    change,
    behind('haproxy', 'haproxy.cfg', (path) => ['-f', path], haproxy),
  ),
]
