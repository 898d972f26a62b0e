/** Identity providers by the form of their answers. A real OpenID provider sends them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { openid } from '../../src/index.ts'
import {
  type IdentityProvider,
  type IdentityProviderOptions,
  startIdentityProvider,
} from '../support/identity-provider.ts'
import { signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import type { CompatRow, World } from './row.ts'

interface ProviderShape extends Pick<IdentityProviderOptions, 'algorithm' | 'claimsInIdToken'> {
  /** The claims about a person. `EMAIL` becomes an address of its own. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly settings?: Partial<Parameters<typeof openid>[0]>
  /** Where the browser goes when the provider vouches for no address. */
  readonly next?: string
}

function signsIn(shape: ProviderShape): CompatRow['run'] {
  return async (world) => {
    const own = shape.algorithm !== undefined || shape.claimsInIdToken !== undefined
    const provider = own ? await startIdentityProvider(shape) : world.provider
    try {
      await enter(world, provider, shape)
    } finally {
      if (own) await provider.close()
    }
  }
}

async function enter(
  world: World,
  provider: IdentityProvider,
  { claims, settings, next }: ProviderShape,
): Promise<void> {
  const sub = randomUUID()
  const email = `${sub}@example.com`
  const text = JSON.stringify(claims).replaceAll('EMAIL', email)
  provider.people.set(sub, JSON.parse(text) as Record<string, unknown>)
  const shared = settings === undefined && provider === world.provider
  const service = shared ? world.service : await world.start(signInAt(provider, { name: 'other', ...settings }))
  const browser = new TestBrowser(service)
  const answer = await signIn(browser, provider, sub, `/oauth/login/${settings === undefined ? 'acme' : 'other'}`)
  assert.equal(answer.status, 302, (await answer.text()).slice(0, 2000))
  if (next === undefined) {
    const { parts } = await service.app.running()
    assert.notEqual(await parts.actors.findByCreator(email), null)
  } else assert.equal(new URL(answer.headers.get('location') ?? '', service.url).pathname, next)
  if (!shared) await service.close()
}

const row = (
  client: string,
  source: string,
  shape: ProviderShape,
  flow = 'sign-in',
  expected = 'the person has an actor',
) =>
  ({
    group: 'Identity providers',
    client,
    version: '2026-11',
    flow,
    expected,
    source,
    run: signsIn(shape),
  }) satisfies CompatRow

const verified = { email: 'EMAIL', email_verified: true, name: 'Ada Lovelace' }

export const identityProviders: readonly CompatRow[] = [
  row('Google', 'https://developers.google.com/identity/openid-connect/openid-connect', {
    claims: {
      ...verified,
      given_name: 'Ada',
      family_name: 'Lovelace',
      picture: 'https://lh3.googleusercontent.com/a/x',
      hd: 'example.com',
    },
  }),
  row('GitLab', 'https://docs.gitlab.com/integration/openid_connect_provider/', {
    claims: {
      ...verified,
      nickname: 'ada',
      preferred_username: 'ada',
      profile: 'https://gitlab.com/ada',
      groups: ['a', 'b/c'],
    },
  }),
  row('Keycloak', 'https://www.keycloak.org/securing-apps/oidc-layers', {
    claims: {
      ...verified,
      preferred_username: 'ada',
      given_name: 'Ada',
      family_name: 'Lovelace',
      realm_access: { roles: ['user'] },
    },
  }),
  row('Authentik', 'https://docs.goauthentik.io/add-secure-apps/providers/oauth2/', {
    claims: { ...verified, preferred_username: 'ada', nickname: 'ada', groups: ['authentik Admins'] },
  }),
  row('Authelia', 'https://www.authelia.com/integration/openid-connect/introduction/', {
    claims: { ...verified, preferred_username: 'ada', alt_emails: ['ada@example.net'], groups: ['dev'] },
  }),
  row(
    'Kanidm',
    'https://kanidm.github.io/kanidm/stable/integrations/oauth2.html',
    {
      claims: { ...verified, preferred_username: 'ada@idm.example.com', scopes: ['openid', 'email'] },
      algorithm: 'ES256',
    },
    'sign-in, ID token with ES256, which no setting names',
  ),
  row(
    'Logto',
    'https://docs.logto.io/user-management/user-data',
    {
      claims: { ...verified, username: 'ada', picture: null, updated_at: 1_790_000_000 },
      algorithm: 'ES256',
      claimsInIdToken: true,
    },
    'sign-in, claims in the ID token',
  ),
  row('Auth0', 'https://auth0.com/docs/get-started/apis/scopes/openid-connect-scopes', {
    claims: {
      ...verified,
      nickname: 'ada',
      picture: 'https://s.gravatar.com/avatar/x',
      updated_at: '2026-11-01T10:00:00.000Z',
    },
  }),
  row('Okta', 'https://developer.okta.com/docs/api/openapi/okta-oauth/oauth/tag/OrgAS/', {
    claims: {
      ...verified,
      preferred_username: 'EMAIL',
      locale: 'en-US',
      zoneinfo: 'America/Los_Angeles',
      updated_at: 1_790_000_000,
    },
  }),
  row('Slack', 'https://docs.slack.dev/authentication/sign-in-with-slack/', {
    claims: {
      ...verified,
      'https://slack.com/user_id': 'U0R7',
      'https://slack.com/team_id': 'T0R7',
      date_email_verified: 1_622_128_723,
    },
  }),
  row(
    'Discord',
    'https://discord.com/developers/docs/topics/oauth2',
    { claims: { ...verified, preferred_username: 'ada', nickname: null, locale: 'en-US' } },
    'sign-in, null as an empty claim',
  ),
  row(
    'Apple (through OpenID Connect)',
    'https://developer.apple.com/documentation/signinwithapple/authenticating-users-with-sign-in-with-apple',
    { claims: { email: 'EMAIL', email_verified: 'true', is_private_email: 'true' } },
    'sign-in, `email_verified` as a text',
  ),
  row(
    'Microsoft Entra (one tenant)',
    'https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference',
    {
      claims: { email: 'EMAIL', name: 'Ada Lovelace', preferred_username: 'EMAIL', oid: 'b1', tid: 'c2', ver: '2.0' },
      next: '/oauth/email',
    },
    'sign-in without `email_verified`',
    'the person proves an address by a link before the actor exists',
  ),
  row(
    'Amazon Cognito',
    'https://docs.aws.amazon.com/cognito/latest/developerguide/userinfo-endpoint.html',
    {
      claims: {
        email: 'EMAIL',
        email_verified: 'true',
        username: 'ada',
        'cognito:groups': ['a'],
        phone_number_verified: 'false',
      },
    },
    'sign-in, `email_verified` as a text',
  ),
  row('FusionAuth', 'https://fusionauth.io/docs/lifecycle/authenticate-users/oauth/endpoints', {
    claims: { ...verified, applicationId: 'a1', roles: [], birthdate: '1815-12-10', preferred_username: 'ada' },
  }),
  row('PingFederate', 'https://docs.pingidentity.com/pingfederate/', {
    claims: { ...verified, 'pi.sri': 'a session', group: 'CN=users', updated_at: '1790000000' },
  }),
  row('Casdoor', 'https://casdoor.org/docs/how-to-connect/oidc-client/', {
    claims: { ...verified, preferred_username: 'ada', address: [], picture: '', phone: '', groups: null },
  }),
  row('Dex', 'https://dexidp.io/docs/configuration/custom-scopes-claims-clients/', {
    claims: {
      ...verified,
      groups: ['a'],
      federated_claims: { connector_id: 'ldap', user_id: 'ada' },
      preferred_username: 'ada',
    },
  }),
  row(
    'LinkedIn',
    'https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2',
    { claims: { ...verified, locale: { country: 'US', language: 'en' }, given_name: 'Ada' } },
    'sign-in, `locale` as an object',
  ),
  row('Yahoo! JAPAN', 'https://developer.yahoo.co.jp/yconnect/v2/userinfo.html', {
    claims: { ...verified, locale: 'ja-JP', zoneinfo: '', nickname: 'あだ', gender: '', address: { postal_code: '' } },
  }),
]
