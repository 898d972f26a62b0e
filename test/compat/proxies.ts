/** Proxies in front of a service: a browser with a passkey, the client library and an AI client work through each of them. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '../../src/client.ts'
import { passkey } from '../../src/index.ts'
import type { App } from '../../src/troupe.ts'
import { EventStream } from '../support/event-stream.ts'
import { freePort } from '../support/free-port.ts'
import { authorizeClient, rpc } from '../support/mcp-client.ts'
import { openDevice } from '../support/passkeys.ts'
import type { TestActor, TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import type { CompatRow } from './row.ts'

export interface ProxyPlace {
  /** The port at which the proxy listens, on 127.0.0.1. */
  readonly port: number
  /** Host and port of the service. */
  readonly target: string
  readonly folder: string
}

export interface Proxy {
  readonly client: string
  readonly program: string
  readonly source: string
  readonly file: string
  readonly args: (place: ProxyPlace, path: string) => readonly string[]
  readonly configuration: (place: ProxyPlace) => string
}

const isRoot = process.getuid?.() === 0

const nginx: Proxy = {
  client: 'nginx',
  program: 'nginx',
  source: 'https://nginx.org/en/docs/http/ngx_http_gzip_module.html',
  file: 'nginx.conf',
  args: (_place, path) => ['-c', path],
  // Workers of nginx that root starts run as another user, who may not write in the folder.
  configuration: ({ port, target, folder }) => `${isRoot ? 'user root;\n' : ''}daemon off;
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
      proxy_set_header Host $http_host;
    }
  }
}
`,
}

const caddy: Proxy = {
  client: 'Caddy',
  program: 'caddy',
  source: 'https://caddyserver.com/docs/caddyfile/directives/reverse_proxy',
  file: 'Caddyfile',
  args: (_place, path) => ['run', '--config', path, '--adapter', 'caddyfile'],
  configuration: ({ port, target }) => `{
  admin off
  auto_https off
}
http://localhost:${port} {
  bind 127.0.0.1
  encode zstd gzip
  reverse_proxy ${target}
}
`,
}

const modules = ['mpm_event', 'authz_core', 'filter', 'deflate', 'proxy', 'proxy_http']

const apache: Proxy = {
  client: 'Apache',
  program: 'apache2',
  source: 'https://httpd.apache.org/docs/2.4/mod/mod_deflate.html',
  file: 'apache.conf',
  args: (_place, path) => ['-f', path, '-D', 'FOREGROUND'],
  configuration: ({ port, target, folder }) => `ServerRoot ${folder}
${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
DefaultRuntimeDir ${folder}
${isRoot ? 'User www-data\nGroup www-data' : ''}
ServerName localhost
Listen 127.0.0.1:${port}
AllowEncodedSlashes NoDecode
ProxyPreserveHost On
SetOutputFilter DEFLATE
ProxyPass / http://${target}/ nocanon
`,
}

const haproxy: Proxy = {
  client: 'HAProxy',
  program: 'haproxy',
  source: 'https://docs.haproxy.org/3.2/configuration.html',
  file: 'haproxy.cfg',
  args: (_place, path) => ['-f', path],
  configuration: ({ port, target }) => `defaults
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
`,
}

const varnish: Proxy = {
  client: 'Varnish',
  program: 'varnishd',
  source: 'https://varnish-cache.org/docs/trunk/users-guide/compression.html',
  file: 'default.vcl',
  args: ({ port, folder }, path) => ['-F', '-a', `127.0.0.1:${port}`, '-f', path, '-n', join(folder, 'work')],
  configuration: ({ target }) => `vcl 4.1;
backend default {
  .host = "${target.split(':')[0]}";
  .port = "${target.split(':')[1]}";
}
sub vcl_backend_response {
  if (beresp.http.Content-Type ~ "^(text/(html|css|javascript|plain)|application/json)") {
    set beresp.do_gzip = true;
  }
}
`,
}

/** Starts the proxy, and waits until it answers. */
export async function startProxy(proxy: Proxy, place: ProxyPlace): Promise<() => Promise<void>> {
  const path = join(place.folder, proxy.file)
  writeFileSync(path, proxy.configuration(place))
  const child = spawn(proxy.program, proxy.args(place, path), { stdio: 'ignore' })
  await until(async () => {
    assert.equal(child.exitCode, null, `${proxy.program} ended`)
    return fetch(`http://localhost:${place.port}/`, { redirect: 'manual' }).then(
      ({ status }) => status < 500,
      () => false,
    )
  })
  return () => ended(child)
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill()
  })
}

function behind(proxy: Proxy, prefix: string): CompatRow['run'] {
  return async (world) => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-proxy-'))
    // Programs that root starts continue as other users.
    chmodSync(folder, 0o755)
    const [port, own] = [await freePort(), await freePort()]
    const ends: (() => Promise<void>)[] = []
    const steps = Promise.withResolvers<void>()
    try {
      const service = await world.start({
        baseUrl: `http://localhost:${port}${prefix}`,
        port: own,
        signIn: [passkey()],
        trustedProxies: 1,
        declare: (app: App) => declare(app, steps.promise),
      })
      ends.push(() => service.close())
      ends.push(await startProxy(proxy, { port, target: `127.0.0.1:${own}`, folder }))
      await browse(service)
      const actor = await service.createActor()
      await change(service, actor)
      await callTool(service, actor, steps.resolve)
    } finally {
      steps.resolve()
      // Proxies wait for the streams that the service ends.
      for (const end of ends) await end()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

function declare(app: App, goOn: Promise<void>): void {
  app.action('work', { mcp: true }, async ({ mcp }) => {
    mcp?.progress(1, 2, 'halfway')
    await goOn
    return 'done'
  })
}

/** Creates an account with a passkey, signs in with it again, and sees a change without a reload. */
async function browse({ url, app }: TestService): Promise<void> {
  const { page } = await openDevice()
  const openPasskeys = async (): Promise<void> => {
    await page.goto(`${url}/login`)
    await page.getByRole('link', { name: 'Continue with Passkey' }).click()
  }
  await openPasskeys()
  await page.getByLabel('Your name').fill('Ada Lovelace')
  await page.getByRole('button', { name: 'Create account with a passkey' }).click()
  await page.getByRole('link', { name: 'I saved them. Continue' }).click()
  await page.waitForURL(/\/www$/)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You’ve been signed out.').waitFor()
  await openPasskeys()
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(/\/www$/)
  const ada = await app.actors.findByCreator('Ada Lovelace')
  assert.equal(page.url(), `${url}/${ada?.id}/www`)
  await ada?.set('color', 'green')
  await page.goto(`${url}/${ada?.id}/www/properties/color`)
  await page.locator('.value', { hasText: 'green' }).waitFor()
  await ada?.set('color', 'ultramarine')
  await page.locator('.value', { hasText: 'ultramarine' }).waitFor()
  assert.deepEqual(page.complaints, [])
}

/** Changes a value only in the version that the compressed answer named, by the client library. */
async function change({ url }: TestService, actor: TestActor): Promise<void> {
  const long = 'a long text '.repeat(1000)
  let compressed = 0
  const client = createClient({
    url,
    credential: { actorId: actor.id, token: 'replaced below' },
    fetch: async (input, init) => {
      const headers = new Headers(init?.headers)
      headers.set('authorization', actor.authorization)
      const response = await fetch(input, { ...init, headers })
      if (response.headers.has('content-encoding')) compressed += 1
      return response
    },
  })
  const text = client.property<string>('text')
  await text.set(long)
  await text.update(() => `${long}!`)
  assert.equal(await text.get(), `${long}!`)
  assert.notEqual(compressed, 0)
}

/** The progress of a tool arrives while the tool still works. */
async function callTool(service: TestService, actor: TestActor, goOn: () => void): Promise<void> {
  const client = await authorizeClient(service, actor)
  const headers = { 'mcp-protocol-version': '2025-11-25' }
  const call = { name: 'work', _meta: { progressToken: 'p' } }
  const stream = new EventStream(await client.send(rpc(1, 'tools/call', call), headers))
  assert.partialDeepStrictEqual(await stream.next(), {
    params: { progressToken: 'p', progress: 1, total: 2, message: 'halfway' },
  })
  goOn()
  assert.partialDeepStrictEqual(await stream.next(), {
    result: { content: [{ type: 'text', text: 'done' }], isError: false },
  })
}

const places = [
  ['', 'compresses'],
  ['/notes', 'compresses, at a path prefix'],
] as const

export const proxies = [nginx, caddy, apache, haproxy, varnish]

export const proxyRows: readonly CompatRow[] = proxies.flatMap((proxy) =>
  places.map(([prefix, how]) => ({
    group: 'Proxies',
    client: proxy.client,
    version: 'of the machine',
    flow: `${how}: sign-in with a passkey, live page, update by the client library, streamed answer to an AI client`,
    expected:
      'signs in, sees the change without a reload, changes the version of the compressed answer, and receives the progress of a tool while it works',
    source: proxy.source,
    program: proxy.program,
    run: behind(proxy, prefix),
  })),
)
