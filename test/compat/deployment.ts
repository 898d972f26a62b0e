/** The files of `examples/deploy`, read by the programs that they are for. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { selfSigned } from '../support/certificates.ts'
import type { CompatRow } from './row.ts'

const run = promisify(execFile)
const deploy = join(import.meta.dirname, '..', '..', 'examples', 'deploy')
const env = { ...process.env, DOMAIN: 'club.example.com' }

/** Runs a check with a folder of its own. */
function inFolder(check: (folder: string) => Promise<unknown>): () => Promise<void> {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-deploy-'))
    try {
      await check(folder)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
}

/** Returns the text of a proxy's file with a certificate that exists. */
function withCertificate(folder: string, file: string): string {
  const { key, cert } = selfSigned({ names: ['club.example.com'] })
  writeFileSync(join(folder, 'key.pem'), key)
  writeFileSync(join(folder, 'cert.pem'), cert)
  return readFileSync(join(deploy, 'proxies', file), 'utf8')
    .replaceAll(/\/etc\/letsencrypt\/\S+\/fullchain\.pem/g, join(folder, 'cert.pem'))
    .replaceAll(/\/etc\/letsencrypt\/\S+\/privkey\.pem/g, join(folder, 'key.pem'))
}

async function testNginx(folder: string): Promise<void> {
  const path = join(folder, 'nginx.conf')
  writeFileSync(path, `pid ${folder}/pid;\nevents {}\nhttp {\n${withCertificate(folder, 'nginx.conf')}}\n`)
  await run('nginx', ['-t', '-c', path])
}

/** The modules that the first line of the file names, and those that each configuration needs. */
const apacheModules = ['mpm_event', 'authz_core', 'alias', 'ssl', 'headers', 'proxy', 'proxy_http', 'unique_id']

async function testApache(folder: string): Promise<void> {
  const path = join(folder, 'apache.conf')
  const modules = apacheModules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so\n`)
  writeFileSync(
    path,
    `ServerRoot ${folder}\nErrorLog ${folder}/error.log\n${modules.join('')}${withCertificate(folder, 'apache.conf')}`,
  )
  await run('apache2', ['-t', '-f', path])
}

type Check = readonly [client: string, program: string, source: string, flow: string, expected: string]

const row = ([client, program, source, flow, expected]: Check, check: () => Promise<unknown>): CompatRow => ({
  group: 'Deployment',
  client,
  version: 'of the machine',
  flow,
  expected,
  source,
  program,
  run: async () => void (await check()),
})

export const deploymentRows: readonly CompatRow[] = [
  row(
    [
      'systemd',
      'systemd-analyze',
      'https://www.freedesktop.org/software/systemd/man/latest/systemd-analyze.html',
      '`troupe.service`',
      'is exposed at most 2.0 of 10',
    ],
    () => run('systemd-analyze', ['security', '--offline=true', '--threshold=20', join(deploy, 'troupe.service')]),
  ),
  row(
    ['nginx', 'nginx', 'https://nginx.org/en/docs/switches.html', '`proxies/nginx.conf`', 'is valid'],
    inFolder(testNginx),
  ),
  row(
    ['Apache', 'apache2', 'https://httpd.apache.org/docs/2.4/programs/httpd.html', '`proxies/apache.conf`', 'is valid'],
    inFolder(testApache),
  ),
  row(
    ['Caddy', 'caddy', 'https://caddyserver.com/docs/command-line', '`proxies/Caddyfile`', 'is valid'],
    inFolder((folder) =>
      run('caddy', ['validate', '--adapter', 'caddyfile', '--config', join(deploy, 'proxies', 'Caddyfile')], {
        env: { ...env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      }),
    ),
  ),
  row(
    [
      'Compose',
      'docker-compose',
      'https://docs.docker.com/reference/cli/docker/compose/config/',
      '`compose.yaml`',
      'is valid',
    ],
    () => run('docker-compose', ['-f', join(deploy, 'compose.yaml'), 'config', '--quiet'], { env }),
  ),
  row(
    [
      'Prometheus',
      'promtool',
      'https://prometheus.io/docs/prometheus/latest/command-line/promtool/',
      '`prometheus/alerts.yaml`',
      'has rules that Prometheus reads',
    ],
    () => run('promtool', ['check', 'rules', join(deploy, 'prometheus', 'alerts.yaml')]),
  ),
]
