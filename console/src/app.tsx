import { useQueryClient } from '@tanstack/react-query'
import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  type NavigateOptions,
  Outlet,
  redirect,
  useNavigate,
  useParams,
  useRouterState,
} from '@tanstack/react-router'
import { Fragment, lazy, type SubmitEvent, type ReactNode, Suspense, useEffect, useState } from 'react'
import type { Me } from '@quota-service/client'
import { type ChannelName, CHANNELS, type ChannelClient, clientOf, managed } from './channel-client.ts'
import { Keys } from './keys.tsx'
import { Notice } from './notice.ts'
import { Announcements, Dialog, Failure, Loading, Screen, WaitingNotice } from './parts.tsx'
import { ChangesScreen } from './screens/changes.tsx'
import { EverythingScreen } from './screens/everything.tsx'
import { NewQuotaScreen } from './screens/new-quota.tsx'
import { OperationScreen, OperationsScreen } from './screens/operation.tsx'
import { OverviewScreen } from './screens/overview.tsx'
import { OwnerScreen } from './screens/owner.tsx'
import { QuotaScreen } from './screens/quota.tsx'
import { QuotasScreen } from './screens/quotas.tsx'
import { SignInForm } from './screens/sign-in.tsx'
import { WebhooksScreen } from './screens/webhooks.tsx'
import { resume, signOut, useSession } from './session.ts'
import {
  changeSetSearch,
  changeSetsSearch,
  changesSearch,
  everythingSearch,
  groupSearch,
  groupsSearch,
  manySearch,
  newSearch,
  numberOf,
  operationsSearch,
  overviewSearch,
  quotaSearch,
  quotasSearch,
  readSearch,
  writeSearch,
} from './search.ts'

/* The frame of all screens, and their routes. */

// Loaded on demand: one file for all screens of change sets.
const many = () => import('./screens/many.ts')
const ChangeManyScreen = lazy(async () => ({ default: (await many()).ChangeManyScreen }))
const ChangeSetScreen = lazy(async () => ({ default: (await many()).ChangeSetScreen }))
const ChangeSetsScreen = lazy(async () => ({ default: (await many()).ChangeSetsScreen }))
const ImportScreen = lazy(async () => ({ default: (await many()).ImportScreen }))
const groups = () => import('./screens/groups.tsx')
const GroupScreen = lazy(async () => ({ default: (await groups()).GroupScreen }))
const GroupsScreen = lazy(async () => ({ default: (await groups()).GroupsScreen }))

function Frame(): ReactNode {
  const session = useSession()
  const params = useParams({ strict: false })
  const channel = CHANNELS.find((name) => name === params.channel) ?? 'mail'
  const queries = useQueryClient()
  const pathname = useRouterState({ select: ({ location }) => location.pathname })
  // The menu of a phone closes with each navigation.
  const [menuOf, setMenuOf] = useState<string>()
  const open = menuOf === pathname
  // The next person must not see data of the previous one.
  const signedOut = session.state === 'signedOut'
  useEffect(() => {
    if (signedOut) queries.clear()
  }, [signedOut, queries])
  if (session.state === 'signedOut') return <SignedOut why={session.why} />
  if (session.state === 'checking') {
    return (
      <main className="centre" role="status">
        Signing in…
      </main>
    )
  }
  const { me } = session
  const manages = managed(me).length > 0
  return (
    <>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          document.getElementById('main')?.focus()
        }}
      >
        To the content
      </a>
      <header
        className={open ? 'top open' : 'top'}
        onKeyDown={({ key }) => {
          if (key !== 'Escape' || !open) return
          setMenuOf(undefined)
          document.getElementById('menu')?.focus()
        }}
      >
        <Link to="/$channel" params={{ channel }} search={{}} className="brand">
          <Mark /> Quota console
        </Link>
        {manages && (
          <>
            <Channels several={managed(me).length > 1} />
            <button
              type="button"
              id="menu"
              className="on-phone"
              aria-label="Menu"
              aria-expanded={open}
              onClick={() => setMenuOf(open ? undefined : pathname)}
            >
              <span aria-hidden="true">☰</span>
            </button>
            <Search channel={channel} />
          </>
        )}
        <div className="who">
          <span>
            <span className="visually-hidden">Signed in as </span>
            <b>{me.name}</b> <span className="muted">({me.role})</span>
          </span>
          {manages && <Keys channel={channel} />}
          <button type="button" className="quiet" onClick={() => signOut()}>
            Sign out
          </button>
        </div>
      </header>
      {manages && <Sections channel={channel} admin={me.role === 'admin' && me.scopes.length === 0} />}
      <main id="main" tabIndex={-1}>
        <WaitingNotice />
        {manages ? <Outlet /> : <MayNotManage me={me} />}
      </main>
      <Announcements />
      {session.state === 'expired' && (
        <Dialog title="Sign in again">
          <p>
            {me.source === 'oidc' ? 'Your session has ended.' : 'The service no longer accepts your token.'} What you
            typed on this page is kept.
          </p>
          <SignInForm onDone={() => void queries.invalidateQueries()} />
          <div className="actions">
            <button type="button" className="quiet" onClick={() => signOut()}>
              Sign out and forget what I typed
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

function Mark(): ReactNode {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path d="M5 23a11 11 0 1 1 22 0" fill="none" strokeWidth="4" strokeLinecap="round" stroke="currentColor" />
      <path d="M16 23l6-8" fill="none" strokeWidth="3.5" strokeLinecap="round" stroke="currentColor" />
    </svg>
  )
}

function SignedOut({ why }: { why: unknown }): ReactNode {
  return (
    <main className="centre">
      <div className="card">
        <p className="brand">
          <Mark /> Quota console
        </p>
        <Screen title="Sign in" takesFocus={false}>
          {why !== undefined && <Failure error={why} retry={why instanceof Notice ? undefined : resume} />}
          <SignInForm autoFocus />
        </Screen>
      </div>
    </main>
  )
}

function MayNotManage({ me: { name, role, scopes, source } }: { me: Me }): ReactNode {
  const byName = source === 'oidc'
  const narrowed = scopes.length > 0 && (role === 'service' || role === 'admin')
  return (
    <Screen title={byName ? 'You may not manage quotas' : 'This token may not manage quotas'}>
      <div className="empty">
        <p>
          {byName ? 'Your account' : 'The token'} <b>{name}</b> has the role <b>{role}</b>
          {narrowed
            ? `, narrowed to ${scopes.join(' and ')}: it manages nothing.`
            : `: it may ${role === 'metrics' ? 'watch' : 'spend'}, not manage.`}{' '}
          The console is for the roles <b>service</b> (mail) and <b>admin</b> (mail and SMS).
        </p>
        <p>
          {byName
            ? 'Ask whoever runs the identity provider for one of them, then sign out and in again.'
            : 'Ask whoever runs the service for a token of your own, then sign out and in with it.'}
        </p>
      </div>
    </Screen>
  )
}

/** The parts of an address that also apply to the other channel: the screen, and filters without ids. */
function inOtherChannel(pathname: string, search: Record<string, unknown>): { section: Section; search: object } {
  const [, , first = '', more] = pathname.split('/')
  const section = SECTIONS.find((one) => one === first) ?? (first === 'owners' ? 'quotas' : '')
  const {
    owner: _owner,
    person: _person,
    group: _group,
    groupId: _groupId,
    follows: _follows,
    quotaId: _quota,
    page: _page,
    before: _before,
    beforeId: _id,
    cursor: _cursor,
    ...rest
  } = search
  return { section, search: more === undefined && section === first ? rest : {} }
}
const SECTIONS = ['quotas', 'groups', 'changes', 'change-sets', 'import', 'operations', 'new', 'search'] as const
type Section = (typeof SECTIONS)[number] | ''

function Channels({ several }: { several: boolean }): ReactNode {
  const { pathname, search } = useRouterState({ select: ({ location }) => location })
  if (!several) return null
  const other = inOtherChannel(pathname, search)
  return (
    <nav aria-label="Channel" className="channels">
      {CHANNELS.map((name) => (
        <Link
          key={name}
          to={other.section === '' ? '/$channel' : `/$channel/${other.section}`}
          params={{ channel: name }}
          search={other.search}
          {...(pathname.split('/')[1] === name ? { 'aria-current': 'page' as const } : {})}
          activeOptions={{ exact: true }}
        >
          {clientOf(name).title}
        </Link>
      ))}
    </nav>
  )
}

function Sections({ channel, admin }: { channel: ChannelName; admin: boolean }): ReactNode {
  return (
    <nav aria-label="Sections" className="sections">
      <Link to="/$channel" params={{ channel }} search={{}} activeOptions={{ exact: true, includeSearch: false }}>
        Overview
      </Link>
      <Link to="/$channel/quotas" params={{ channel }} search={{}} activeOptions={{ includeSearch: false }}>
        Quotas
      </Link>
      <Link to="/$channel/groups" params={{ channel }} search={{}} activeOptions={{ includeSearch: false }}>
        Groups
      </Link>
      <Link to="/$channel/changes" params={{ channel }} search={{}} activeOptions={{ includeSearch: false }}>
        Changes
      </Link>
      <Link to="/$channel/change-sets" params={{ channel }} search={{}} activeOptions={{ includeSearch: false }}>
        Change sets
      </Link>
      <Link to="/$channel/operations" params={{ channel }} search={{}} activeOptions={{ includeSearch: false }}>
        Operations
      </Link>
      {admin && <Link to="/webhooks">Notifications</Link>}
    </nav>
  )
}

const UUID = /^(?:operation )?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i
/** `7`, `Account 7`, `User 3`, `#12`, `Cap #12`, `Group 5`: every form in which the console shows a number. */
const NUMBERED = /^(account|user|quota|cap|group|change set|#)? ?#?([1-9]\d{0,15})$/i

/** One search field for numbers, keys, ids, labels and names. */
function Search({ channel }: { channel: ChannelName }): ReactNode {
  const navigate = useNavigate()
  const client = clientOf(channel)
  const [text, setText] = useState('')
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const asked = text.trim().replace(/\s+/g, ' ')
    if (asked === '') return
    const [, what = client.owner, number] = NUMBERED.exec(asked) ?? []
    const [, operation] = UUID.exec(asked) ?? []
    const [, key] = /^key: ?(.+)$/i.exec(asked) ?? []
    if (number !== undefined) void navigate(numbered(client, what.toLowerCase(), number))
    else if (operation !== undefined)
      void navigate({ to: '/$channel/operations/$id', params: { channel, id: operation.toLowerCase() } })
    else if (key !== undefined) void navigate({ to: '/$channel/operations', params: { channel }, search: { key } })
    else void navigate({ to: '/$channel/search', params: { channel }, search: { q: text.trim() } })
    setText('')
  }
  return (
    <form role="search" className="search" onSubmit={submit}>
      <label className="visually-hidden" htmlFor="search">
        Search: {client.owner} number, # and a quota’s number, an operation’s identifier, an idempotency key, the
        beginning of a label or of a group’s name, or a colleague’s name
      </label>
      <input
        id="search"
        type="search"
        value={text}
        placeholder={`${client.Owner} 7, quota #12, label, key, operation, name …`}
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  )
}

/** The target of a number, by the word before it. A mail account’s user has no screen: its quotas are listed. */
function numbered(client: ChannelClient, what: string, number: string): NavigateOptions {
  const params = { channel: client.name }
  if (what === '#' || what === 'quota' || what === 'cap')
    return { to: '/$channel/quotas/$id', params: { ...params, id: number }, search: {} }
  if (what === 'group') return { to: '/$channel/groups/$id', params: { ...params, id: number }, search: {} }
  if (what === 'change set') return { to: '/$channel/change-sets/$id', params: { ...params, id: number }, search: {} }
  if (what === client.owner) return { to: '/$channel/owners/$owner', params: { ...params, owner: number } }
  if (client.namesPerson) return { to: '/$channel/quotas', params, search: { person: Number(number) } }
  return { to: '/$channel/owners/$owner', params: { channel: 'mail', owner: number } }
}

function ChannelScreens(): ReactNode {
  const { channel } = channelRoute.useParams()
  const session = useSession()
  if (!CHANNELS.includes(channel)) return <NotFound />
  if (channel === 'sms' && 'me' in session && session.me.role !== 'admin') {
    return (
      <Screen title="SMS quotas are for administrators">
        <div className="empty">
          <p>
            The token <b>{session.me.name}</b> has the role <b>{session.me.role}</b>, which looks after mail alone. SMS
            needs the role <b>admin</b>.
          </p>
          <Link to="/$channel" params={{ channel: 'mail' }} search={{}}>
            To the mail quotas
          </Link>
        </div>
      </Screen>
    )
  }
  const own = 'me' in session ? managed(session.me) : CHANNELS
  if (own[0] !== undefined && !own.includes(channel)) {
    return (
      <Screen title="This token is for the other channel">
        <div className="empty">
          <p>The token{'me' in session && <b> {session.me.name}</b>} is narrowed to the other channel.</p>
          <Link to="/$channel" params={{ channel: own[0] }} search={{}}>
            To its quotas
          </Link>
        </div>
      </Screen>
    )
  }
  // The key discards the state of the other channel's screens.
  return (
    <Suspense fallback={<Loading />} key={channel}>
      <Outlet />
    </Suspense>
  )
}

function NotFound(): ReactNode {
  return (
    <Screen title="There is no such screen">
      <div className="empty">
        <p>The address is not one of the console’s.</p>
        <Link to="/$channel" params={{ channel: 'mail' }} search={{}}>
          To the overview
        </Link>
      </div>
    </Screen>
  )
}

/** The screen of what an id in the address names; another id begins another one. */
function ById({ id, children }: { id: string; children: (id: number) => ReactNode }): ReactNode {
  const number = numberOf(id)
  return number === undefined ? <NotFound /> : <Fragment key={id}>{children(number)}</Fragment>
}

const rootRoute = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
})
const startRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router requires it
    throw redirect({ to: '/$channel', params: { channel: 'mail' }, search: {}, replace: true })
  },
})
const webhooksRoute = createRoute({ getParentRoute: () => rootRoute, path: '/webhooks', component: WebhooksScreen })
const channelRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/$channel',
  component: ChannelScreens,
  notFoundComponent: NotFound,
  // The screen reports an unknown channel.
  params: {
    parse: ({ channel }) => ({ channel: channel as ChannelName }),
    stringify: ({ channel }) => ({ channel }),
  },
})
const inChannel = { getParentRoute: () => channelRoute }
const overviewRoute = createRoute({
  ...inChannel,
  path: '/',
  validateSearch: overviewSearch,
  component: () => (
    <OverviewScreen client={clientOf(overviewRoute.useParams().channel)} search={overviewRoute.useSearch()} />
  ),
})
const quotasRoute = createRoute({
  ...inChannel,
  path: '/quotas',
  validateSearch: quotasSearch,
  component: () => <QuotasScreen client={clientOf(quotasRoute.useParams().channel)} search={quotasRoute.useSearch()} />,
})
const quotaRoute = createRoute({
  ...inChannel,
  path: '/quotas/$id',
  validateSearch: quotaSearch,
  component: () => {
    const { channel, id } = quotaRoute.useParams()
    const search = quotaRoute.useSearch()
    return <ById id={id}>{(number) => <QuotaScreen client={clientOf(channel)} id={number} search={search} />}</ById>
  },
})
const newRoute = createRoute({
  ...inChannel,
  path: '/new',
  validateSearch: newSearch,
  component: () => {
    const search = newRoute.useSearch()
    return (
      <NewQuotaScreen key={JSON.stringify(search)} client={clientOf(newRoute.useParams().channel)} search={search} />
    )
  },
})
const ownerRoute = createRoute({
  ...inChannel,
  path: '/owners/$owner',
  component: () => {
    const { channel, owner } = ownerRoute.useParams()
    return <ById id={owner}>{(number) => <OwnerScreen client={clientOf(channel)} owner={number} />}</ById>
  },
})
const groupsRoute = createRoute({
  ...inChannel,
  path: '/groups',
  validateSearch: groupsSearch,
  component: () => <GroupsScreen client={clientOf(groupsRoute.useParams().channel)} search={groupsRoute.useSearch()} />,
})
const groupRoute = createRoute({
  ...inChannel,
  path: '/groups/$id',
  validateSearch: groupSearch,
  component: () => {
    const { channel, id } = groupRoute.useParams()
    const search = groupRoute.useSearch()
    return <ById id={id}>{(number) => <GroupScreen client={clientOf(channel)} id={number} search={search} />}</ById>
  },
})
const changesRoute = createRoute({
  ...inChannel,
  path: '/changes',
  validateSearch: changesSearch,
  component: () => (
    <ChangesScreen client={clientOf(changesRoute.useParams().channel)} search={changesRoute.useSearch()} />
  ),
})
const changeSetsRoute = createRoute({
  ...inChannel,
  path: '/change-sets',
  validateSearch: changeSetsSearch,
  component: () => (
    <ChangeSetsScreen client={clientOf(changeSetsRoute.useParams().channel)} search={changeSetsRoute.useSearch()} />
  ),
})
const changeManyRoute = createRoute({
  ...inChannel,
  path: '/change-sets/new',
  validateSearch: manySearch,
  component: () => {
    const search = changeManyRoute.useSearch()
    return (
      <ChangeManyScreen
        key={JSON.stringify(search)}
        client={clientOf(changeManyRoute.useParams().channel)}
        search={search}
      />
    )
  },
})
const changeSetRoute = createRoute({
  ...inChannel,
  path: '/change-sets/$id',
  validateSearch: changeSetSearch,
  component: () => {
    const { channel, id } = changeSetRoute.useParams()
    const search = changeSetRoute.useSearch()
    return <ById id={id}>{(number) => <ChangeSetScreen client={clientOf(channel)} id={number} search={search} />}</ById>
  },
})
const importRoute = createRoute({
  ...inChannel,
  path: '/import',
  component: () => <ImportScreen client={clientOf(importRoute.useParams().channel)} />,
})
const everythingRoute = createRoute({
  ...inChannel,
  path: '/search',
  validateSearch: everythingSearch,
  component: () => (
    <EverythingScreen client={clientOf(everythingRoute.useParams().channel)} search={everythingRoute.useSearch()} />
  ),
})
const operationsRoute = createRoute({
  ...inChannel,
  path: '/operations',
  validateSearch: operationsSearch,
  component: () => (
    <OperationsScreen client={clientOf(operationsRoute.useParams().channel)} search={operationsRoute.useSearch()} />
  ),
})
const operationRoute = createRoute({
  ...inChannel,
  path: '/operations/$id',
  component: () => {
    const { channel, id } = operationRoute.useParams()
    return <OperationScreen key={id} client={clientOf(channel)} id={id} />
  },
})

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    startRoute,
    webhooksRoute,
    channelRoute.addChildren([
      overviewRoute,
      quotasRoute,
      quotaRoute,
      newRoute,
      ownerRoute,
      groupsRoute,
      groupRoute,
      changesRoute,
      changeSetsRoute,
      changeManyRoute,
      changeSetRoute,
      importRoute,
      everythingRoute,
      operationsRoute,
      operationRoute,
    ]),
  ]),
  basepath: '/admin',
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultNotFoundComponent: NotFound,
  // Of every route: the frame stays if a screen fails.
  defaultErrorComponent: ({ error }) => <Failure error={error} />,
  scrollRestoration: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
