// Network, ports and flows of the ns-3 programs: bench.cc and agree.cc.
// ns-3 is set up to be as fast as its public interface allows:
//  * a routing protocol of our own answers from one array a node. The stock
//    global routing walks a list of all destinations for every packet, and its
//    ECMP picks a path by packet, not by flow;
//  * ports that need no marking have no queue disc and no flow control towards
//    one, only the device's drop-tail queue;
//  * no IPv6, no application objects: the flows drive their sockets directly.
#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>

using namespace ns3;

namespace
{
const uint32_t MSS = 1460;
const uint32_t WINDOW = 1000 * MSS;
const uint64_t FOREVER = uint64_t(1) << 60;

uint64_t g_tx, g_drops, g_timeouts, g_rxBytes;
uint32_t g_flowsDone, g_rounds;

// The device has put the last bit of a packet on its link: one transmission.
void OnPhyTxEnd(Ptr<const Packet>) { ++g_tx; }
void OnDrop(Ptr<const Packet>) { ++g_drops; }
void OnDiscDrop(Ptr<const QueueDiscItem>) { ++g_drops; }
void OnCongState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
{
    g_timeouts += now == TcpSocketState::CA_LOSS;
}

double UserSeconds()
{
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_utime.tv_usec * 1e-6;
}

// 31-bit linear congruential generator, the same in every peer's program.
struct Lcg
{
    uint64_t x;
    explicit Lcg(uint64_t seed) : x((seed * 7919 + 12345) % 2147483647)
    {
        for (int i = 0; i < 10; ++i)
            Uniform();
    }
    double Uniform() { x = x * 48271 % 2147483647; return x / 2147483647.0; }
    uint32_t Below(uint32_t n) { return uint32_t(Uniform() * n); }
};

// A node's forwarding: an array from host number to the interfaces that lead
// there. With several, the hash of addresses and ports chooses: ECMP by flow.
class TableRouting : public Ipv4RoutingProtocol
{
  public:
    static const uint32_t BASE = 0x0A000001; // address of host 0

    int self = -1; // host number, -1 for a switch
    uint32_t salt = 0;
    std::vector<std::vector<uint32_t>> next; // by host; a host uses interface 1

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>,
                               Socket::SocketErrno& err) override
    {
        err = Socket::ERROR_NOTERROR;
        return Route(1);
    }
    bool RouteInput(Ptr<const Packet> p, const Ipv4Header& h, Ptr<const NetDevice>,
                    UnicastForwardCallback ucb, MulticastForwardCallback,
                    LocalDeliverCallback lcb, ErrorCallback) override
    {
        uint32_t dst = h.GetDestination().Get() - BASE;
        if (int(dst) == self)
        {
            lcb(p, h, 1);
            return true;
        }
        if (dst >= next.size() || next[dst].empty())
            return false;
        const auto& set = next[dst];
        uint32_t i = 0;
        if (set.size() > 1)
        {
            // The IP header is off: the ports are the first four bytes.
            uint32_t ports = 0;
            p->CopyData(reinterpret_cast<uint8_t*>(&ports), 4);
            uint64_t k = (uint64_t(h.GetSource().Get()) << 32 | (dst + BASE)) ^
                         (uint64_t(ports) * 0x9E3779B97F4A7C15ull) ^ (uint64_t(salt) << 17);
            k = (k ^ (k >> 31)) * 0xD6E8FEB86659FD93ull;
            k = (k ^ (k >> 29)) * 0xD6E8FEB86659FD93ull;
            i = uint32_t(k >> 40) % set.size();
        }
        ucb(Route(set[i]), p, h);
        return true;
    }
    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void SetIpv4(Ptr<Ipv4> ipv4) override { m_ipv4 = ipv4; }
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    // One route object an interface, made once: the layers above only read
    // the source address and the device from it.
    Ptr<Ipv4Route> Route(uint32_t iface)
    {
        if (m_routes.size() <= iface)
            m_routes.resize(iface + 1);
        if (!m_routes[iface])
        {
            m_routes[iface] = Create<Ipv4Route>();
            m_routes[iface]->SetSource(m_ipv4->GetAddress(iface, 0).GetLocal());
            m_routes[iface]->SetGateway(Ipv4Address::GetZero());
            m_routes[iface]->SetOutputDevice(m_ipv4->GetNetDevice(iface));
        }
        return m_routes[iface];
    }
    Ptr<Ipv4> m_ipv4;
    std::vector<Ptr<Ipv4Route>> m_routes;
};

// Mean number of packets at a port over time, the one on the wire included.
struct Watch
{
    uint64_t drops = 0;
    double sent = 0; // bytes
    void Reset() { Count(0, 0); m_area = 0; drops = 0; sent = 0; m_from = Now(); }
    double Mean() { Count(0, 0); return m_area / (Now() - m_from); }
    void Count(uint32_t before, uint32_t now)
    {
        m_area += m_packets * (Now() - m_last);
        m_last = Now();
        m_packets += double(now) - before;
    }
    void Begin(Ptr<const Packet>) { Count(0, 1); }
    void End(Ptr<const Packet> p) { Count(1, 0); sent += p->GetSize(); }
    void Drop(Ptr<const Packet>) { ++drops; }
    void DiscDrop(Ptr<const QueueDiscItem>) { ++drops; }

  private:
    static double Now() { return Simulator::Now().GetSeconds(); }
    double m_packets = 0, m_area = 0, m_last = 0, m_from = 0;
};

struct Port
{
    uint32_t limit;      // packets
    uint32_t k;          // threshold from which on everything is marked, 0 = no marking
    double min = 0;      // with k: RED marks from here on, with probability pmax just below k
    double pmax = 1;
    double weight = 1;
    bool gentle = false;
    Watch* watch = nullptr;
};
const Port HOST{4000, 0};

struct Net
{
    NodeContainer hosts, switches;
    std::vector<TableRouting*> hostRt, swRt;

    Net(uint32_t nHosts, uint32_t nSwitches)
    {
        hosts.Create(nHosts);
        switches.Create(nSwitches);
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        auto add = [&](Ptr<Node> n, int self, std::vector<TableRouting*>& into) {
            stack.Install(n);
            Ptr<TableRouting> r = Create<TableRouting>();
            r->self = self;
            r->salt = n->GetId() * 2654435761u;
            r->next.resize(nHosts);
            n->GetObject<Ipv4>()->SetRoutingProtocol(r);
            into.push_back(PeekPointer(r));
        };
        for (uint32_t i = 0; i < nHosts; ++i)
            add(hosts.Get(i), int(i), hostRt);
        for (uint32_t i = 0; i < nSwitches; ++i)
            add(switches.Get(i), -1, swRt);
    }
    static Ipv4Address HostAddress(uint32_t i) { return Ipv4Address(TableRouting::BASE + i); }

    // Connects a and b; returns the interface numbers at both ends.
    std::pair<uint32_t, uint32_t> Link(Ptr<Node> a, Ptr<Node> b, double bps, double delay,
                                       Port pa, Port pb)
    {
        PointToPointHelper h;
        h.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(bps))));
        h.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
        if (!pa.k && !pb.k)
            h.DisableFlowControl();
        NetDeviceContainer d = h.Install(a, b);
        return {Attach(d.Get(0), pa, bps, delay), Attach(d.Get(1), pb, bps, delay)};
    }
    void HostLink(uint32_t host, uint32_t sw, double bps, double delay, Port swPort)
    {
        auto l = Link(hosts.Get(host), switches.Get(sw), bps, delay, HOST, swPort);
        swRt[sw]->next[host] = {l.second};
    }
    // Link between switches: everything in `below` is reached from up to down,
    // everything else goes from down to up.
    void SwitchLink(uint32_t down, uint32_t up, double bps, double delay, Port port,
                    uint32_t first, uint32_t count, uint32_t pastFirst, uint32_t pastCount)
    {
        auto l = Link(switches.Get(down), switches.Get(up), bps, delay, port, port);
        for (uint32_t i = 0; i < count; ++i)
            swRt[up]->next[first + i].push_back(l.second);
        for (uint32_t d = 0; d < hosts.GetN(); ++d)
            if (d < pastFirst || d >= pastFirst + pastCount)
                swRt[down]->next[d].push_back(l.first);
    }

  private:
    uint32_t m_ifaces = 0;

    uint32_t Attach(Ptr<NetDevice> dev, Port port, double bps, double delay)
    {
        auto p2p = DynamicCast<PointToPointNetDevice>(dev);
        // With a queue disc the packets wait there and the device holds one.
        p2p->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, port.k ? 1 : port.limit));
        p2p->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&OnDrop));
        p2p->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&OnPhyTxEnd));
        if (port.k)
        {
            // Step marking: RED without averaging, both thresholds at K, marks
            // where it would drop. DCTCP's ACKs are ECN-capable in ns-3.
            TrafficControlHelper tc;
            tc.SetRootQueueDisc("ns3::RedQueueDisc",
                                "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, port.limit)),
                                "MinTh", DoubleValue(port.min > 0 ? port.min : port.k), "MaxTh", DoubleValue(port.k),
                                "QW", DoubleValue(port.weight), "MeanPktSize", UintegerValue(1500),
                                "LInterm", DoubleValue(1 / port.pmax),
                                "Gentle", BooleanValue(port.gentle), "UseEcn", BooleanValue(true),
                                "UseHardDrop", BooleanValue(false),
                                "LinkBandwidth", DataRateValue(DataRate(uint64_t(bps))),
                                "LinkDelay", TimeValue(Seconds(delay)));
            Ptr<QueueDisc> disc = tc.Install(dev).Get(0);
            disc->TraceConnectWithoutContext("Drop", MakeCallback(&OnDiscDrop));
            if (port.watch)
            {
                disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Watch::Count, port.watch));
                disc->TraceConnectWithoutContext("Drop", MakeCallback(&Watch::DiscDrop, port.watch));
            }
        }
        if (port.watch)
        {
            p2p->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Watch::Count, port.watch));
            p2p->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Watch::Drop, port.watch));
            p2p->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Watch::Begin, port.watch));
            p2p->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Watch::End, port.watch));
        }
        Ptr<Node> n = dev->GetNode();
        Ptr<Ipv4> ip = n->GetObject<Ipv4>();
        uint32_t iface = ip->AddInterface(dev);
        // Hosts are 10.*, by number; switch ports need some address to be up.
        Ipv4Address addr = n->GetId() < hosts.GetN() ? HostAddress(n->GetId())
                                                     : Ipv4Address(0x0B000001 + m_ifaces++);
        ip->AddAddress(iface, Ipv4InterfaceAddress(addr, Ipv4Mask("255.0.0.0")));
        ip->SetUp(iface);
        return iface;
    }
};

// One TCP connection. Data is offered in whole segments, so that the send
// buffer never has to split or join packets.
struct Flow
{
    Ptr<Socket> tx, listener;
    uint64_t left = 0;   // bytes not yet given to the socket
    bool busy = false;   // something is still unacknowledged
    uint64_t received = 0, timeouts = 0;
    std::function<void()> done;

    Flow(Net& net, uint32_t src, uint32_t dst, uint16_t port) : m_peer(Net::HostAddress(dst), port)
    {
        listener = Socket::CreateSocket(net.hosts.Get(dst), TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&Flow::OnAccept, this));
        tx = Socket::CreateSocket(net.hosts.Get(src), TcpSocketFactory::GetTypeId());
        tx->TraceConnectWithoutContext("CongState", MakeCallback(&OnCongState));
        tx->TraceConnectWithoutContext("CongState", MakeCallback(&Flow::OnState, this));
        tx->SetConnectCallback(MakeCallback(&Flow::OnConnect, this),
                               MakeNullCallback<void, Ptr<Socket>>());
        tx->SetSendCallback(MakeCallback(&Flow::OnSend, this));
    }
    void ConnectAt(double t, uint64_t bytes)
    {
        left = bytes;
        busy = bytes > 0;
        Simulator::ScheduleWithContext(tx->GetNode()->GetId(), Seconds(t), [this] {
            tx->Bind();
            tx->Connect(m_peer);
        });
    }
    void Give(uint64_t bytes) { left += bytes; busy = true; Fill(); }

  private:
    void OnAccept(Ptr<Socket> s, const Address&) { s->SetRecvCallback(MakeCallback(&Flow::OnRecv, this)); }
    void OnRecv(Ptr<Socket> s)
    {
        while (Ptr<Packet> p = s->Recv())
        {
            g_rxBytes += p->GetSize();
            received += p->GetSize();
        }
    }
    void OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
    {
        timeouts += now == TcpSocketState::CA_LOSS;
    }
    void OnConnect(Ptr<Socket>) { Fill(); }
    void OnSend(Ptr<Socket>, uint32_t avail)
    {
        if (left)
            Fill();
        else if (busy && avail == WINDOW) // the send buffer is empty: all is acknowledged
        {
            busy = false;
            ++g_flowsDone;
            if (done)
                Simulator::ScheduleNow([this] { done(); });
        }
    }
    void Fill()
    {
        while (left && tx->GetTxAvailable() >= MSS)
        {
            uint32_t n = uint32_t(std::min<uint64_t>(left, MSS));
            if (tx->Send(Create<Packet>(n)) < 0)
                break;
            left -= n;
        }
    }
    InetSocketAddress m_peer;
};
} // namespace
