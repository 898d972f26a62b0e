/** The pages, each a function from plain data to safe HTML; an application may put its own in their place. */
import { activityPage } from '../activity/view.ts'
import type { ActivityValues } from '../activity/values.ts'
import { approvalPage } from '../approvals/approval-view.ts'
import type { ApprovalsValues, ApprovalValues } from '../approvals/values.ts'
import { approvalsPage } from '../approvals/list-view.ts'
import { appsPage } from '../apps/view.ts'
import type { AppsValues } from '../apps/values.ts'
import { claimPage } from '../sign-in/account-linking.ts'
import { consentPage } from '../consent/view.ts'
import type { ConsentValues } from '../consent/values.ts'
import { createdPage } from '../front/created.ts'
import { dashboardPage } from '../home/dashboard.ts'
import { emailPage } from '../sign-in/email.ts'
import { factoryPage } from '../front/front-page.ts'
import { failedPage } from '../failed/view.ts'
import { initPage } from '../home/first-steps.ts'
import { passwordAccessPage } from '../password-access/view.ts'
import type { PasswordAccessValues } from '../password-access/values.ts'
import { propertiesPage } from '../properties/list-view.ts'
import { propertyPage } from '../properties/property-view.ts'
import type { ClaimValues, EmailValues, VerificationValues } from '../sign-in/values.ts'
import { signOutPage } from '../sign-in/sign-out.ts'
import { subscriptionPage } from '../subscriptions/subscription-view.ts'
import type { SubscriptionsValues, SubscriptionValues } from '../subscriptions/values.ts'
import { subscriptionsPage } from '../subscriptions/list-view.ts'
import type { Templates } from './templates.ts'
import type { PropertiesValues, PropertyValues } from '../properties/values.ts'
import { trustNewPage } from '../relationships/request-view.ts'
import { trustPage } from '../relationships/list-view.ts'
import { trustPeerPage } from '../relationships/peer-view.ts'
import type { TrustListValues, TrustNewValues, TrustPeerValues, TrustViewValues } from '../relationships/values.ts'
import { trustViewPage } from '../relationships/view-as-peer-view.ts'
import { verificationPage } from '../sign-in/verification.ts'
import type {
  ActorPageValues,
  CreatedValues,
  DashboardValues,
  FactoryValues,
  FailedValues,
  Html,
  SignOutValues,
} from './values.ts'

export interface Pages {
  readonly factory: (values: FactoryValues) => Html
  readonly created: (values: CreatedValues) => Html
  readonly failed: (values: FailedValues) => Html
  readonly signOut: (values: SignOutValues) => Html
  readonly email: (values: EmailValues) => Html
  readonly verification: (values: VerificationValues) => Html
  readonly claim: (values: ClaimValues) => Html
  readonly authorization: (values: ConsentValues) => Html
  readonly dashboard: (values: DashboardValues) => Html
  readonly init: (values: ActorPageValues) => Html
  readonly properties: (values: PropertiesValues) => Html
  readonly property: (values: PropertyValues) => Html
  readonly trust: (values: TrustListValues) => Html
  readonly trustNew: (values: TrustNewValues) => Html
  readonly trustPeer: (values: TrustPeerValues) => Html
  readonly trustView: (values: TrustViewValues) => Html
  readonly subscriptions: (values: SubscriptionsValues) => Html
  readonly subscription: (values: SubscriptionValues) => Html
  readonly apps: (values: AppsValues) => Html
  readonly approvals: (values: ApprovalsValues) => Html
  readonly approval: (values: ApprovalValues) => Html
  readonly passwordAccess: (values: PasswordAccessValues) => Html
  readonly activity: (values: ActivityValues) => Html
}

const builtInPages: Pages = {
  factory: factoryPage,
  created: createdPage,
  failed: failedPage,
  signOut: signOutPage,
  email: emailPage,
  verification: verificationPage,
  claim: claimPage,
  authorization: consentPage,
  dashboard: dashboardPage,
  init: initPage,
  properties: propertiesPage,
  property: propertyPage,
  trust: trustPage,
  trustNew: trustNewPage,
  trustPeer: trustPeerPage,
  trustView: trustViewPage,
  subscriptions: subscriptionsPage,
  subscription: subscriptionPage,
  apps: appsPage,
  approvals: approvalsPage,
  approval: approvalPage,
  passwordAccess: passwordAccessPage,
  activity: activityPage,
}

/** The name of the template that stands for a page, in a folder of the application's own. */
export const templateNames: Readonly<Record<keyof Pages, string>> = {
  factory: 'aw-root-factory.html',
  created: 'aw-root-created.html',
  failed: 'aw-root-failed.html',
  signOut: 'aw-root-logout.html',
  email: 'aw-oauth-email.html',
  verification: 'aw-verify-email.html',
  claim: 'aw-oauth-claim.html',
  authorization: 'aw-oauth-authorization-form.html',
  dashboard: 'aw-actor-www-root.html',
  init: 'aw-actor-www-init.html',
  properties: 'aw-actor-www-properties.html',
  property: 'aw-actor-www-property.html',
  trust: 'aw-actor-www-trust.html',
  trustNew: 'aw-actor-www-trust-new.html',
  trustPeer: 'aw-actor-www-trust-peer.html',
  trustView: 'aw-actor-www-trust-view.html',
  subscriptions: 'aw-actor-www-subscriptions.html',
  subscription: 'aw-actor-www-subscription.html',
  apps: 'aw-actor-www-apps.html',
  approvals: 'aw-actor-www-approvals.html',
  approval: 'aw-actor-www-approval.html',
  passwordAccess: 'aw-actor-www-password-access.html',
  activity: 'aw-actor-www-activity.html',
}

/** What an application puts in the place of built-in pages, and pages of its own that its `www` handler names. */
export interface OwnPages extends Partial<Pages> {
  readonly custom?: Readonly<Record<string, (values: Readonly<Record<string, unknown>>) => Html>>
}

export interface PageSet extends Pages {
  /** A page that is neither of these: by the name that the application gave it. */
  readonly find: (name: string) => ((values: Readonly<Record<string, unknown>>) => Html) | null
}

/** Functions stand above templates, and both above what is built in. */
export function pageSet({ custom = {}, ...own }: OwnPages, templates: Templates | null): PageSet {
  const fromTemplates = Object.fromEntries(
    Object.entries(templateNames).flatMap(([page, name]) => {
      const template = templates?.find(name) ?? null
      return template === null ? [] : [[page, template]]
    }),
  )
  return {
    ...builtInPages,
    ...fromTemplates,
    ...own,
    find: (name) => (Object.hasOwn(custom, name) ? (custom[name] ?? null) : (templates?.find(name) ?? null)),
  }
}
